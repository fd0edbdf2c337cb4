/**
 * The facts and the content of one event of each type, with every field that the type can have.
 *
 * @type {{ readonly [T in import('@app/domain').TaskEventType]: Omit<Extract<import('@app/domain').TaskEvent, { type: T }>, 'type'> }}
 */
export const EVENT_SAMPLES = {
  TaskSubmitted: {
    facts: { contextId: 'context-1', ring: 'ring:dev', owner: 'alice', agent: 'demo', acknowledged: true },
  },
  MessageAccepted: {
    facts: {
      messageId: 'message-1',
      parts: 3,
      bytes: 420,
      referenceTaskIds: ['00000000-0000-8000-8000-000000000002'],
      request: {
        configuration: { acceptedOutputModes: ['text/plain'], returnImmediately: true, historyLength: 5 },
        extensions: ['https://example.com/extension'],
        addressClass: 'private',
      },
    },
    content: {
      message: {
        messageId: 'message-1',
        role: 'user',
        parts: [
          { text: 'Grüße, 日本', mediaType: 'text/plain', metadata: { language: 'de' } },
          { data: { ring: 'ring:dev', amount: 12.5 } },
          { raw: 'aGVsbG8=', filename: 'hello.txt', mediaType: 'text/plain' },
        ],
        metadata: { ring: 'ring:dev' },
        extensions: ['https://example.com/extension'],
        referenceTaskIds: ['00000000-0000-8000-8000-000000000002'],
      },
      request: { metadata: { ticket: 'T-1' }, clientName: 'example-client/1.0' },
    },
  },
  RunStarted: {
    facts: { runId: 'run-1', attempt: 2, leaseGeneration: 3, dispatcherGeneration: 4, worker: 'worker-1' },
  },
  StatusReported: {
    facts: {
      runId: 'run-1',
      seq: 1,
      messageId: 'status-1',
      bytes: 80,
      upstream: { taskId: 'upstream-1', contextId: 'upstream-context', messageId: 'upstream-message' },
    },
    content: { message: { messageId: 'status-1', role: 'agent', parts: [{ text: 'working' }] } },
  },
  ArtifactPublished: {
    facts: { runId: 'run-1', seq: 2, artifactId: 'text', append: true, last: true, parts: 1, bytes: 90 },
    content: {
      artifact: {
        name: 'Text',
        description: 'The result',
        parts: [{ url: 'https://example.com/file.pdf', filename: 'file.pdf', mediaType: 'application/pdf' }],
        metadata: { page: 1 },
        extensions: ['https://example.com/extension'],
      },
    },
  },
  InputRequested: {
    facts: { runId: 'run-1', seq: 3, messageId: 'question-1', bytes: 70, nextTurn: false },
    content: { message: { messageId: 'question-1', role: 'agent', parts: [{ text: 'Which one?' }] } },
  },
  AuthorizationRequested: {
    facts: { runId: 'run-2', seq: 1, messageId: 'authorization-1', bytes: 70, nextTurn: true },
    content: { message: { messageId: 'authorization-1', role: 'agent', parts: [{ text: 'Please sign in.' }] } },
  },
  TaskResumed: { facts: { dispatcherGeneration: 5 } },
  ReplySent: {
    facts: { runId: 'run-3', seq: 1, messageId: 'reply-1', bytes: 60 },
    content: { message: { messageId: 'reply-1', role: 'agent', parts: [{ text: 'Hello' }] } },
  },
  TaskCompleted: {
    facts: { runId: 'run-3', seq: 2, messageId: 'end-1', bytes: 60 },
    content: { message: { messageId: 'end-1', role: 'agent', parts: [{ text: 'Done' }] } },
  },
  TaskFailed: {
    facts: { runId: 'run-3', seq: 2, messageId: 'end-2', bytes: 60, reason: 'agent' },
    content: { message: { messageId: 'end-2', role: 'agent', parts: [{ text: 'The file is missing.' }] } },
  },
  TaskRejected: {
    facts: { runId: 'run-3', seq: 2, messageId: 'end-3', bytes: 60 },
    content: { message: { messageId: 'end-3', role: 'agent', parts: [{ text: 'Not my task' }] } },
  },
  CancelRequested: { facts: { deadline: '2026-01-01T00:00:05.000Z' } },
  TaskCanceled: {
    facts: { seq: 3, messageId: 'end-4', bytes: 60, reason: 'agent' },
    content: { message: { messageId: 'end-4', role: 'agent', parts: [{ text: 'Canceled' }] } },
  },
  RunLost: { facts: { runId: 'run-3', reason: 'retryable-error', seq: 4 } },
  RunRetried: {
    facts: { attempt: 2, dispatcherGeneration: 6, notBefore: '2026-01-01T00:00:10.000Z', counted: true },
  },
  PushConfigSet: {
    facts: { subject: 'alice', configId: 'webhook-1', protocolVersion: '1.0' },
    content: { push: { url: 'https://example.com/hook' } },
  },
  PushConfigDeleted: { facts: { subject: 'alice', configId: 'webhook-1', reason: 'status-410' } },
};
