import {
  derivedId,
  type Message,
  type Principal,
  type RecordedEvent,
  type SendRecord,
  type TaskCommand,
  type TaskEvent,
} from '@app/domain';
import { ServerKeys } from '@app/storage';

type CommandOf<T extends TaskCommand['type']> = Extract<TaskCommand, { type: T }>;
type EventOf<T extends TaskEvent['type']> = Extract<TaskEvent, { type: T }>;

/** Returns the id of a task that a test calls by a label, such as `t1`. Task ids are UUIDs. */
export const aTaskId = (label: string): string => derivedId('task of a test', label);

export const aMessage = (text: string, messageId = `message of ${text}`): Message => ({
  messageId,
  role: 'user',
  parts: [{ text }],
});

export const agentMessage = (text: string): Message => ({
  messageId: `agent message of ${text}`,
  role: 'agent',
  parts: [{ text }],
});

export const aMember = (subject: string, changes: Partial<Principal> = {}): Principal => ({
  tenantId: 'acme',
  subject,
  role: 'member',
  rings: ['ring:dev'],
  agents: [],
  ...changes,
});

export const aWorker = (subject: string, changes: Partial<Principal> = {}): Principal =>
  aMember(subject, { role: 'worker', agents: ['tester'], ...changes });

/** Returns keys of a server that has no database. */
export const aServerKeys = (): ServerKeys =>
  new ServerKeys({ ids: Buffer.alloc(32, 1), fingerprints: Buffer.alloc(32, 2) });

/** A request that contains nothing besides its message. */
export const REQUEST: SendRecord = { configuration: { returnImmediately: false } };

/** Returns the command that adds a message to a task. */
export const addMessage = (
  message: Message,
  changes: Partial<CommandOf<'AddMessage'>> = {},
): CommandOf<'AddMessage'> => ({ type: 'AddMessage', message, request: REQUEST, ...changes });

/** Returns events at consecutive positions of a stream. */
export const recorded = (events: readonly TaskEvent[], recordedAt: string, firstVersion = 1): RecordedEvent[] =>
  events.map((event, index) => {
    const version = firstVersion + index;
    return { ...event, version, recordedAt, eventId: derivedId('event of a test', version) };
  });

export const SUBMIT: CommandOf<'SubmitTask'> = {
  type: 'SubmitTask',
  contextId: 'context-1',
  ring: 'ring:dev',
  owner: 'alice',
  agent: 'demo',
  acknowledged: false,
  message: aMessage('hello'),
  request: REQUEST,
};

export const CLAIM = { runId: 'run-1', worker: 'worker-1' };
export const FENCE = { runId: 'run-1', leaseGeneration: 1, dispatcherGeneration: 1 };
export const RETRY = { maxAttempts: 3, notBefore: '2026-01-01T00:00:02.000Z' };

export const SUBMITTED: readonly TaskEvent[] = [
  {
    type: 'TaskSubmitted',
    facts: { contextId: 'context-1', ring: 'ring:dev', owner: 'alice', agent: 'demo', acknowledged: false },
  },
  {
    type: 'MessageAccepted',
    facts: { messageId: 'message of hello', parts: 1, bytes: 10, request: REQUEST },
    content: { message: aMessage('hello') },
  },
];

export const STARTED: TaskEvent = {
  type: 'RunStarted',
  facts: { ...CLAIM, attempt: 1, leaseGeneration: 1, dispatcherGeneration: 1 },
};

export const RUNNING: readonly TaskEvent[] = [...SUBMITTED, STARTED];

/** The first write of the run that `RUNNING` started. */
export const WRITE = { runId: 'run-1', seq: 1 };
export const COMPLETED: EventOf<'TaskCompleted'> = { type: 'TaskCompleted', facts: WRITE };
export const INPUT_REQUESTED: EventOf<'InputRequested'> = {
  type: 'InputRequested',
  facts: { ...WRITE, nextTurn: false, messageId: 'agent message of text' },
  content: { message: agentMessage('text') },
};

export const DEADLINE = '2026-01-01T00:00:05.000Z';
export const CANCEL_REQUESTED: EventOf<'CancelRequested'> = { type: 'CancelRequested', facts: { deadline: DEADLINE } };

/** A write of the run that `RUNNING` started. */
export const record = (
  outputs: CommandOf<'RecordRun'>['outputs'],
  changes: Partial<CommandOf<'RecordRun'>> = {},
): CommandOf<'RecordRun'> => ({ type: 'RecordRun', fence: FENCE, seq: 1, readThrough: 2, outputs, ...changes });
