import { describe, expect, it } from '@jest/globals';
import { SUBMIT, SUBMITTED } from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import { encodedBytes, type Message, type Part } from '../content.js';
import { evolveAll } from '../task/task.decide.js';
import { boundView, type SizedArtifact, type SizedMessage, viewBytes, type UnboundedTask } from './view-bounds.js';

const KiB = 1024;
const state = evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!;

const said = (message: Message): SizedMessage => ({ ...message, bytes: encodedBytes(message), message });

const sized = (messageId: string, kilobytes: number, role: Message['role'] = 'user'): SizedMessage =>
  said({ messageId, role, parts: [{ text: 'x'.repeat(kilobytes * KiB) }] });

const published = (artifactId: string, parts: Part[]): SizedArtifact => ({
  artifactId,
  bytes: encodedBytes({ parts }),
  parts: parts.length,
  artifact: { parts },
});

const text = (kilobytes: number): Part[] => [{ text: 'y'.repeat(kilobytes * KiB) }];

const task = (changes: Partial<UnboundedTask>): UnboundedTask => ({
  tenantId: 'acme',
  taskId: 'task-1',
  state,
  history: [],
  historyCount: changes.history?.length ?? 0,
  artifacts: [],
  artifactCount: changes.artifacts?.length ?? 0,
  ...changes,
});

const idsOf = (messages: readonly Message[]) => messages.map(({ messageId }) => messageId);

const placeholder = (path: string, parts?: number, reason = 'too-large'): Part => ({
  data: { reason, path, ...(parts === undefined ? {} : { parts }) },
  metadata: { 'acta/placeholder': true },
});

const partsOf = (artifactId: string) => `/api/tasks/task-1/deliveries/${artifactId}/parts`;

describe('a task within its bounds', () => {
  it('is shown whole, and says nothing of what was left out', () => {
    const whole = task({ history: [sized('m1', 1), sized('m2', 1)], artifacts: [published('a', text(1))] });
    const view = boundView(whole);
    expect(idsOf(view.history)).toEqual(['m1', 'm2']);
    expect(view.artifacts).toEqual([{ artifactId: 'a', parts: text(1) }]);
    expect(view.truncated).toBeUndefined();
  });

  it('loses its oldest history first', () => {
    const view = boundView(
      task({
        history: [sized('m1', 600), sized('m2', 600), sized('m3', 600)],
        artifacts: [published('a', text(600)), published('b', text(1))],
      }),
    );
    expect(idsOf(view.history)).toEqual(['m2', 'm3']);
    expect(view.artifacts.map(({ parts }) => parts)).toEqual([text(600), text(1)]);
    expect(view.truncated).toEqual({ history: 1 });
    expect(viewBytes(view)).toBeLessThanOrEqual(BOUNDS.taskBytes);
  });

  it('keeps no message older than one that it lost', () => {
    const view = boundView(task({ history: [sized('small', 1), sized('large', 1_500), sized('new', 1_000)] }));
    expect(idsOf(view.history)).toEqual(['new']);
    expect(view.truncated).toEqual({ history: 2 });
  });

  it('loses the parts of its last artifacts once its history is gone, each for one placeholder', () => {
    const view = boundView(
      task({
        history: [sized('m1', 1)],
        artifacts: [
          published('a', text(900)),
          published('b', [...text(400), { data: 1 }]),
          published('c d', [...text(400), ...text(399)]),
        ],
      }),
    );
    expect(view.history).toEqual([]);
    expect(view.artifacts).toEqual([
      { artifactId: 'a', parts: text(900) },
      { artifactId: 'b', parts: [...text(400), { data: 1 }] },
      { artifactId: 'c d', parts: [placeholder(partsOf('c%20d'), 2)] },
    ]);
    expect(view.truncated).toEqual({ history: 1, parts: 2 });
  });

  it('does not lose an artifact to one that was published after it', () => {
    const view = boundView(task({ artifacts: [published('a', text(1_000)), published('b', text(3_000))] }));
    expect(view.artifacts.map(({ parts }) => parts)).toEqual([text(1_000), [placeholder(partsOf('b'), 1)]]);
  });

  it('shows the newest 20 artifacts', () => {
    const artifacts = Array.from({ length: 25 }, (_, at) => published(`a${at}`, text(1)));
    const view = boundView(task({ artifacts }));
    expect(view.artifacts.map(({ artifactId }) => artifactId)).toEqual(
      artifacts.slice(5).map(({ artifactId }) => artifactId),
    );
    expect(view.truncated).toEqual({ artifacts: 5 });
  });

  it('shows 20 parts of an artifact, the last of them a placeholder for the rest', () => {
    const parts = (count: number) => Array.from({ length: count }, (_, at): Part => ({ data: at }));
    const view = boundView(task({ artifacts: [published('a', parts(20)), published('b', parts(21))] }));
    expect(view.artifacts).toEqual([
      { artifactId: 'a', parts: parts(20) },
      { artifactId: 'b', parts: [...parts(19), placeholder(partsOf('b'), 2)] },
    ]);
    expect(view.truncated).toEqual({ parts: 2 });
  });

  it("shows the newest 1,000 of its agent's messages, and all of its client's", () => {
    const history = [
      sized('question', 0),
      ...Array.from({ length: 1_005 }, (_, at) => sized(`answer ${at}`, 0, 'agent')),
    ];
    const view = boundView(task({ history }));
    expect(view.history).toHaveLength(1_001);
    expect(idsOf(view.history.slice(0, 2))).toEqual(['question', 'answer 5']);
    expect(view.truncated).toEqual({ history: 5 });
  });

  it('does not count what the client did not ask for', () => {
    const history = [sized('m1', 1_500), sized('m2', 1), sized('m3', 1)];
    expect(idsOf(boundView(task({ history }), 2).history)).toEqual(['m2', 'm3']);
    expect(boundView(task({ history }), 2).truncated).toBeUndefined();
    expect(boundView(task({ history: [sized('m0', 1_500), ...history] }), 4).truncated).toEqual({ history: 1 });
    expect(boundView(task({ history }), 0)).toMatchObject({ history: [] });
  });

  it('shows a placeholder for a status message that is too large alone', () => {
    const statusMessage = sized('status', 2_000, 'agent');
    const view = boundView(task({ statusMessage, artifacts: [published('a', text(1_000))] }));
    expect(view.statusMessage).toEqual({
      messageId: 'status',
      role: 'agent',
      parts: [placeholder('/api/tasks/task-1/messages')],
    });
    expect(view.artifacts).toEqual([{ artifactId: 'a', parts: text(1_000) }]);
    expect(view.truncated).toEqual({ statusMessage: 1 });
  });

  it('passes over messages that cannot be read, and counts them', () => {
    const unreadable = { ...sized('m2', 1), message: null };
    const view = boundView(task({ history: [sized('m1', 1), unreadable, sized('m3', 1)], statusMessage: unreadable }));
    expect(idsOf(view.history)).toEqual(['m1', 'm3']);
    expect(view.statusMessage).toBeUndefined();
    expect(view.truncated).toEqual({ unreadable: 2 });
  });

  it('never shows an artifact without parts', () => {
    const gone = (artifactId: string, missing: 'erased' | 'unreadable'): SizedArtifact => ({
      ...published(artifactId, []),
      missing,
    });
    const view = boundView(task({ artifacts: [gone('a', 'erased'), gone('b', 'unreadable')] }));
    expect(view.artifacts).toEqual([
      { artifactId: 'a', parts: [placeholder(partsOf('a'), undefined, 'erased')] },
      { artifactId: 'b', parts: [placeholder(partsOf('b'), undefined, 'unreadable')] },
    ]);
    expect(view.truncated).toEqual({ unreadable: 1 });
  });

  it('keeps to its bound when nothing of it fits', () => {
    const history = [said({ ...SUBMIT.message, parts: text(1_400) })];
    const artifacts = Array.from({ length: 20 }, (_, at) => published(`${'é'.repeat(250)}${at}`, text(200)));
    const view = boundView(task({ history, artifacts, statusMessage: sized('status', 1_700, 'agent') }));
    expect(viewBytes(view)).toBeLessThanOrEqual(BOUNDS.taskBytes);
    expect(view.artifacts).toHaveLength(20);
    expect(view.truncated).toEqual({ history: 1, parts: 19 });
  });
});
