import { describe, expect, it } from '@jest/globals';
import { given } from '../../../../test/support/decider-spec.js';
import {
  agentMessage,
  aMessage,
  CLAIM,
  FENCE,
  record,
  RETRY,
  RUNNING,
  STARTED,
  SUBMIT,
  SUBMITTED,
} from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import type { RunOutput, TaskCommand } from './task.commands.js';
import type { TaskEvent } from './task.events.js';

const run = { runId: 'run-1', seq: 1 };
const message = agentMessage('say');
const said = { messageId: message.messageId };
const COMPLETED: TaskEvent = { type: 'TaskCompleted', facts: run };
const ASKED: TaskEvent = { type: 'InputRequested', facts: { ...run, nextTurn: false, ...said }, content: { message } };
const CHUNK: Extract<RunOutput, { type: 'artifact' }> = {
  type: 'artifact',
  artifactId: 'a',
  artifact: { parts: [{ text: 'x' }] },
  append: false,
  last: false,
};
const DEADLINE = '2026-01-01T00:00:05.000Z';
const CANCEL: TaskCommand = { type: 'CancelTask', policy: 'fence', deadline: DEADLINE };
const CANCELING: TaskEvent = { type: 'CancelRequested', facts: { deadline: DEADLINE } };
const add = (text: string): TaskCommand => ({ type: 'AddMessage', message: aMessage(text) });

describe('SubmitTask', () => {
  it('records the task and its message', () => {
    given([])
      .when(SUBMIT)
      .then([
        { type: 'TaskSubmitted', facts: { owner: 'alice', ring: 'ring:dev', agent: 'demo', acknowledged: false } },
        { type: 'MessageAccepted', facts: { parts: 1 }, content: { message: SUBMIT.message } },
      ]);
  });

  it('starts the run in the same breath when a worker has claimed it', () => {
    given([])
      .when({ ...SUBMIT, claim: CLAIM })
      .then([{ type: 'TaskSubmitted' }, { type: 'MessageAccepted' }, STARTED]);
  });
});

describe('a command to a task that does not exist', () => {
  it('finds no task', () => {
    given([]).when(add('x')).then('TaskNotFound');
    given([]).when(CANCEL).then('TaskNotFound');
    given([]).when({ type: 'ClaimRun', claim: CLAIM }).then('TaskNotFound');
  });
});

describe('AddMessage', () => {
  it('joins the history of a working task and starts no second run', () => {
    given(RUNNING)
      .when({ type: 'AddMessage', message: aMessage('more'), claim: { runId: 'run-2', worker: 'w' } })
      .then([{ type: 'MessageAccepted' }]);
  });

  it('starts the next turn of a task that asks, and raises the dispatcher generation', () => {
    given([...RUNNING, ASKED])
      .when({ type: 'AddMessage', message: aMessage('answer'), claim: { runId: 'run-2', worker: 'w' } })
      .then([
        { type: 'MessageAccepted' },
        { type: 'RunStarted', facts: { runId: 'run-2', attempt: 1, leaseGeneration: 2, dispatcherGeneration: 2 } },
      ]);
  });

  it('is refused by an ended task', () => {
    given([...RUNNING, COMPLETED])
      .when(add('late'))
      .then('TaskEnded');
  });

  it('is invalid when the history is full, by number or by bytes', () => {
    const accepted: TaskEvent = { type: 'MessageAccepted', facts: { messageId: 'm', parts: 1, bytes: 10 } };
    const many = Array.from({ length: BOUNDS.clientMessages - 2 }, () => accepted);
    given([...RUNNING, ...many])
      .when(add('the hundredth'))
      .then([{ type: 'MessageAccepted' }]);
    given([...RUNNING, ...many, accepted])
      .when(add('one too many'))
      .then('InvalidParameters');
    const large: TaskEvent = {
      type: 'MessageAccepted',
      facts: { ...accepted.facts, bytes: BOUNDS.clientHistoryBytes },
    };
    given([...RUNNING, large])
      .when(add('x'))
      .then('InvalidParameters');
  });

  it.each([
    ['to come', '2026-01-01T00:01:00.000Z'],
    // The clock of whoever decides may be ahead: whether it is over, the queue knows.
    ['over', '2025-12-31T23:59:00.000Z'],
  ])('does not shorten the wait of a retry that is %s', (_when, notBefore) => {
    given([
      ...RUNNING,
      { type: 'RunLost', facts: { runId: 'run-1', reason: 'lease-expired' } },
      { type: 'RunRetried', facts: { attempt: 1, dispatcherGeneration: 2, notBefore, counted: true } },
    ])
      .when({ type: 'AddMessage', message: aMessage('hurry'), claim: { runId: 'run-2', worker: 'w' } })
      .then([{ type: 'MessageAccepted' }]);
  });
});

describe('ClaimRun', () => {
  it('starts waiting work, once', () => {
    given(SUBMITTED).when({ type: 'ClaimRun', claim: CLAIM }).then([STARTED]);
    given(RUNNING).when({ type: 'ClaimRun', claim: CLAIM }).then([]);
    given([...RUNNING, ASKED])
      .when({ type: 'ClaimRun', claim: CLAIM })
      .then([]);
    given([...RUNNING, COMPLETED])
      .when({ type: 'ClaimRun', claim: CLAIM })
      .then([]);
  });
});

describe('RecordRun', () => {
  it('records what the agent says, each kind as its event', () => {
    const each: [RunOutput, object][] = [
      [
        { type: 'status', message },
        { type: 'StatusReported', facts: said, content: { message } },
      ],
      [{ ...CHUNK }, { type: 'ArtifactPublished', facts: { artifactId: 'a', append: false } }],
      [
        { type: 'input-required', message },
        { type: 'InputRequested', facts: { nextTurn: false } },
      ],
      [{ type: 'auth-required', message }, { type: 'AuthorizationRequested' }],
      [{ type: 'complete' }, COMPLETED],
      [
        { type: 'fail', message },
        { type: 'TaskFailed', facts: { reason: 'agent' } },
      ],
      [
        { type: 'fail', invalid: true },
        { type: 'TaskFailed', facts: { reason: 'invalid-agent-response' } },
      ],
      [{ type: 'reject' }, { type: 'TaskRejected' }],
      [{ type: 'canceled' }, { type: 'TaskCanceled', facts: { reason: 'agent' } }],
    ];
    for (const [output, event] of each) {
      given(RUNNING)
        .when(record([output]))
        .then([event]);
    }
  });

  it('takes a repeated write once, also when that write ended the run', () => {
    const reported: TaskEvent = { type: 'StatusReported', facts: run };
    given([...RUNNING, reported])
      .when(record([{ type: 'status' }]))
      .then([]);
    given([...RUNNING, { ...COMPLETED, facts: { ...run, seq: 0 } }])
      .when(record([{ type: 'complete' }], { seq: 0 }))
      .then([]);
  });

  // F15, F19
  it('is fenced without the current lease and dispatcher generation, and after the end', () => {
    for (const fence of [
      { ...FENCE, runId: 'other' },
      { ...FENCE, leaseGeneration: 0 },
      { ...FENCE, dispatcherGeneration: 2 },
    ]) {
      given(RUNNING)
        .when(record([{ type: 'status' }], { fence }))
        .then('Fenced');
    }
    given([...RUNNING, COMPLETED])
      .when(record([{ type: 'status' }], { seq: 2 }))
      .then('Fenced');
    given([...RUNNING, ASKED])
      .when(record([{ type: 'status' }], { seq: 2 }))
      .then('Fenced');
  });

  it('says nothing after its own outcome', () => {
    given(RUNNING)
      .when(record([{ type: 'complete' }, { type: 'status' }]))
      .then('Fenced');
  });

  it('records where another agent does the work, and keeps it through runs and turns', () => {
    const upstream = { taskId: 'theirs', contextId: 'their context', messageId: 'sent' };
    const attached: TaskEvent = { type: 'StatusReported', facts: { ...run, upstream } };
    given(RUNNING)
      .when(record([{ type: 'status', message, upstream }]))
      .then([{ ...attached, content: { message } }]);
    const lost: TaskEvent = { type: 'RunLost', facts: { runId: 'run-1', reason: 'lease-expired' } };
    const reported: TaskEvent = { type: 'StatusReported', facts: run };
    for (const later of [[], [reported], [lost], [ASKED]]) {
      expect(given([...RUNNING, attached, ...later]).state?.upstream).toEqual(upstream);
    }
    expect(given(RUNNING).state).not.toHaveProperty('upstream');
    const newer = { ...upstream, messageId: 'sent later' };
    expect(given([...RUNNING, attached, { ...attached, facts: { ...run, upstream: newer } }]).state?.upstream).toEqual(
      newer,
    );
  });

  it('refuses ids of an upstream task that no database could hold', () => {
    for (const taskId of ['', 'nul \0 in it', 'x'.repeat(BOUNDS.idLength + 1)]) {
      given(RUNNING)
        .when(record([{ type: 'status', upstream: { taskId, contextId: 'c', messageId: 'm' } }]))
        .then('InvalidAgentResponse');
    }
  });

  // F14
  it('refuses a chunk for an artifact that the run never started, and artifacts without parts', () => {
    given(RUNNING)
      .when(record([{ ...CHUNK, append: true }]))
      .then('InvalidAgentResponse');
    given(RUNNING)
      .when(record([{ ...CHUNK, artifact: { parts: [] } }]))
      .then('InvalidAgentResponse');
    given(RUNNING)
      .when(record([{ ...CHUNK }, { ...CHUNK, append: true }]))
      .then([{ facts: { append: false } }, { facts: { append: true } }]);
  });

  it('refuses artifact ids that no database could hold', () => {
    for (const artifactId of ['', 'nul \0 in it', 'half \ud800 a pair', 'x'.repeat(BOUNDS.idLength + 1)]) {
      given(RUNNING)
        .when(record([{ ...CHUNK, artifactId }]))
        .then('InvalidAgentResponse');
    }
  });

  it('bounds the artifacts of one run', () => {
    const outputs = Array.from({ length: BOUNDS.runArtifacts + 1 }, (_, at) => ({
      ...CHUNK,
      artifactId: `a${at}`,
    }));
    given(RUNNING).when(record(outputs)).then('InvalidAgentResponse');
  });

  it('hands the next turn out at once when a message was not read', () => {
    given([...RUNNING, { type: 'MessageAccepted', facts: { messageId: 'm', parts: 1, bytes: 1 } }])
      .when(record([{ type: 'input-required', message }]))
      .then([{ type: 'InputRequested', facts: { nextTurn: true } }]);
  });

  it('cancels a task whose run asked for something while a cancel was waiting', () => {
    given([...RUNNING, CANCELING])
      .when(record([{ type: 'input-required', message }]))
      .then([{ type: 'InputRequested' }, { type: 'TaskCanceled' }]);
  });
});

describe('a bare reply', () => {
  const reply = record([{ type: 'reply', message }], { seq: 2 });

  it('ends an execution that nobody has seen as a task', () => {
    given(RUNNING)
      .when(reply)
      .then([{ type: 'ReplySent', content: { message } }]);
  });

  it('becomes a completion once a status or an artifact was shown', () => {
    given([...RUNNING, { type: 'StatusReported', facts: run }])
      .when(reply)
      .then([{ type: 'TaskCompleted', content: { message } }]);
    given([
      ...RUNNING,
      { type: 'ArtifactPublished', facts: { ...run, artifactId: 'a', append: false, last: true, parts: 1, bytes: 1 } },
    ])
      .when(reply)
      .then([{ type: 'TaskCompleted' }]);
  });

  it('becomes a completion when a client already knows the task: it was acknowledged, or it cancels', () => {
    const [submitted, ...rest] = RUNNING as [Extract<TaskEvent, { type: 'TaskSubmitted' }>, ...TaskEvent[]];
    given([{ ...submitted, facts: { ...submitted.facts, acknowledged: true } }, ...rest])
      .when(reply)
      .then([{ type: 'TaskCompleted' }]);
    given([...RUNNING, CANCELING])
      .when(reply)
      .then([{ type: 'TaskCompleted' }]);
  });
});

describe('LoseRun', () => {
  const lose = (changes: object = {}): TaskCommand => ({
    type: 'LoseRun',
    fence: FENCE,
    reason: 'lease-expired',
    retry: RETRY,
    ...changes,
  });

  it('retries under a new dispatcher generation, not before its time', () => {
    given(RUNNING)
      .when(lose())
      .then([
        { type: 'RunLost', facts: { runId: 'run-1', reason: 'lease-expired' } },
        { type: 'RunRetried', facts: { dispatcherGeneration: 2, notBefore: RETRY.notBefore, counted: true } },
      ]);
  });

  // F20
  it('fails the task, with a reason, when the attempts are used up', () => {
    given(RUNNING)
      .when(lose({ retry: { ...RETRY, maxAttempts: 1 } }))
      .then([
        { type: 'RunLost' },
        {
          type: 'TaskFailed',
          facts: { reason: 'attempts-exhausted' },
          content: { message: { parts: [{ text: 'all 1 attempts were lost; the last one: lease-expired' }] } },
        },
      ]);
  });

  it('does not count a run that was handed back', () => {
    given(RUNNING)
      .when(lose({ reason: 'released', retry: { ...RETRY, maxAttempts: 1 } }))
      .then([{ type: 'RunLost' }, { type: 'RunRetried', facts: { counted: false } }]);
  });

  it('cancels a task that was being canceled', () => {
    given([...RUNNING, CANCELING])
      .when(lose())
      .then([{ type: 'RunLost' }, { type: 'TaskCanceled', facts: { reason: 'lease' } }]);
  });

  it('is fenced when another run holds the task', () => {
    given(RUNNING)
      .when(lose({ fence: { ...FENCE, leaseGeneration: 2 } }))
      .then('Fenced');
  });
});

describe('CancelTask', () => {
  it('cancels idle work at once', () => {
    given(SUBMITTED)
      .when(CANCEL)
      .then([{ type: 'TaskCanceled', facts: { reason: 'idle' } }]);
    given([...RUNNING, ASKED])
      .when(CANCEL)
      .then([{ type: 'TaskCanceled', facts: { reason: 'idle' } }]);
  });

  it('asks the holder of active work, once', () => {
    given(RUNNING)
      .when(CANCEL)
      .then([{ type: 'CancelRequested', facts: { deadline: DEADLINE } }]);
    given([...RUNNING, CANCELING])
      .when(CANCEL)
      .then([]);
  });

  it('finds a canceled task as it is, and refuses any other ended one', () => {
    given([...SUBMITTED, { type: 'TaskCanceled', facts: { reason: 'idle' } }])
      .when(CANCEL)
      .then([]);
    given([...RUNNING, COMPLETED])
      .when(CANCEL)
      .then('TaskNotCancelable');
  });

  it('belongs to the holder alone under holder-only', () => {
    const command = { type: 'CancelTask', policy: 'holder-only', deadline: DEADLINE } as const;
    const holder = { ...FENCE, worker: 'worker-1' };
    given(RUNNING).when(command).then('TaskNotCancelable');
    for (const wrong of [
      { worker: 'worker-2' },
      { runId: 'run-2' },
      { leaseGeneration: 2 },
      { dispatcherGeneration: 2 },
    ]) {
      given(RUNNING)
        .when({ ...command, holder: { ...holder, ...wrong } })
        .then('TaskNotCancelable');
    }
    given(RUNNING)
      .when({ ...command, holder })
      .then([{ type: 'TaskCanceled', facts: { reason: 'holder' } }]);
    given(SUBMITTED)
      .when(command)
      .then([{ type: 'TaskCanceled', facts: { reason: 'idle' } }]);
  });
});

describe('EnforceCancel', () => {
  const enforce = (now: string): TaskCommand => ({ type: 'EnforceCancel', now });

  it('cancels at the deadline whether or not the holder answers, and not before', () => {
    given([...RUNNING, CANCELING])
      .when(enforce(DEADLINE))
      .then([{ type: 'TaskCanceled', facts: { reason: 'deadline' } }]);
    given([...RUNNING, CANCELING])
      .when(enforce('2026-01-01T00:00:04.999Z'))
      .then([]);
  });

  it('adds nothing to a task that ended, or that nobody cancels', () => {
    given([...RUNNING, CANCELING, COMPLETED])
      .when(enforce(DEADLINE))
      .then([]);
    given(RUNNING).when(enforce(DEADLINE)).then([]);
  });
});

describe('ResumeTask', () => {
  const AUTHORIZE: TaskEvent = { ...ASKED, type: 'AuthorizationRequested' };
  const ANSWER = SUBMITTED[1]!;
  const started = (turn: number): TaskEvent => ({
    type: 'RunStarted',
    facts: { ...CLAIM, attempt: 1, leaseGeneration: turn, dispatcherGeneration: turn },
  });

  it('starts the next turn of a task that waits for an authorization, without a message', () => {
    given([...RUNNING, AUTHORIZE])
      .when({ type: 'ResumeTask' })
      .then([{ type: 'TaskResumed', facts: { dispatcherGeneration: 2 } }]);
    given([...RUNNING, AUTHORIZE])
      .when({ type: 'ResumeTask', claim: CLAIM })
      .then([{ type: 'TaskResumed' }, { type: 'RunStarted', facts: { dispatcherGeneration: 2, leaseGeneration: 2 } }]);
  });

  it('adds nothing to what it has brought to its end, however late its repeat comes', () => {
    const resumed: TaskEvent[] = [
      ...RUNNING,
      AUTHORIZE,
      { type: 'TaskResumed', facts: { dispatcherGeneration: 2 } },
      started(2),
    ];
    given([...resumed, COMPLETED])
      .when({ type: 'ResumeTask' })
      .then([]);
    // A message began the turn that ended: this resume is no repeat.
    given([...resumed, ASKED, ANSWER, started(3), COMPLETED])
      .when({ type: 'ResumeTask' })
      .then('TaskEnded');
  });

  it('adds nothing to work that goes on, and is refused where nothing can go on', () => {
    given(RUNNING).when({ type: 'ResumeTask' }).then([]);
    given([...RUNNING, ASKED])
      .when({ type: 'ResumeTask' })
      .then('InvalidParameters');
    given([...RUNNING, COMPLETED])
      .when({ type: 'ResumeTask' })
      .then('TaskEnded');
  });
});
