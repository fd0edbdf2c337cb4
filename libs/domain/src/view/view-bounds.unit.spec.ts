import { describe, expect, it } from '@jest/globals';
import { SUBMIT, SUBMITTED } from '../../../../test/support/tasks.js';
import { BOUNDS } from '../bounds.js';
import { encodedBytes, type Message, type Part } from '../content.js';
import { evolveAll } from '../task/task.evolve.js';
import type { Placeholder } from './placeholder.js';
import { boundView, type SizedArtifact, type SizedMessage, viewBytes, type UnboundedTask } from './view-bounds.js';

const KiB = 1024;
const state = evolveAll(null, SUBMITTED, '2026-01-01T00:00:00.000Z')!;

const withSize = (message: Message): SizedMessage => ({ ...message, bytes: encodedBytes(message), message });

const sized = (messageId: string, kilobytes: number, role: Message['role'] = 'user'): SizedMessage =>
  withSize({ messageId, role, parts: [{ text: 'x'.repeat(kilobytes * KiB) }] });

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

const placeholder = (artifactId: string | undefined, parts?: number, reason: Placeholder['reason'] = 'too-large') => ({
  placeholder: {
    reason,
    taskId: 'task-1',
    ...(artifactId === undefined ? {} : { artifactId }),
    ...(parts === undefined ? {} : { parts }),
  },
});

describe('boundView', () => {
  it('returns a small task completely, without truncated counts', () => {
    const small = task({ history: [sized('m1', 1), sized('m2', 1)], artifacts: [published('a', text(1))] });
    const view = boundView(small);
    expect(idsOf(view.history)).toEqual(['m1', 'm2']);
    expect(view.artifacts).toEqual([{ artifactId: 'a', parts: text(1) }]);
    expect(view.truncated).toBeUndefined();
  });

  it('omits the oldest messages first', () => {
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

  it('omits every message that is older than an omitted one', () => {
    const view = boundView(task({ history: [sized('small', 1), sized('large', 1_500), sized('new', 1_000)] }));
    expect(idsOf(view.history)).toEqual(['new']);
    expect(view.truncated).toEqual({ history: 2 });
  });

  it('replaces the parts of the last artifacts with one placeholder each after it has omitted all history', () => {
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
      { artifactId: 'c d', parts: [placeholder('c d', 2)] },
    ]);
    expect(view.truncated).toEqual({ history: 1, parts: 2 });
  });

  it('keeps an artifact that fits if a later artifact does not fit', () => {
    const view = boundView(task({ artifacts: [published('a', text(1_000)), published('b', text(3_000))] }));
    expect(view.artifacts.map(({ parts }) => parts)).toEqual([text(1_000), [placeholder('b', 1)]]);
  });

  it('returns the newest 20 artifacts', () => {
    const artifacts = Array.from({ length: 25 }, (_, index) => published(`a${index}`, text(1)));
    const view = boundView(task({ artifacts }));
    expect(view.artifacts.map(({ artifactId }) => artifactId)).toEqual(
      artifacts.slice(5).map(({ artifactId }) => artifactId),
    );
    expect(view.truncated).toEqual({ artifacts: 5 });
  });

  it('returns 20 parts of an artifact, of which the last is a placeholder for the remaining parts', () => {
    const parts = (count: number) => Array.from({ length: count }, (_, index): Part => ({ data: index }));
    const view = boundView(task({ artifacts: [published('a', parts(20)), published('b', parts(21))] }));
    expect(view.artifacts).toEqual([
      { artifactId: 'a', parts: parts(20) },
      { artifactId: 'b', parts: [...parts(19), placeholder('b', 2)] },
    ]);
    expect(view.truncated).toEqual({ parts: 2 });
  });

  it('returns the newest 1,000 messages of the agent and all messages of the client', () => {
    const history = [
      sized('question', 0),
      ...Array.from({ length: 1_005 }, (_, index) => sized(`answer ${index}`, 0, 'agent')),
    ];
    const view = boundView(task({ history }));
    expect(view.history).toHaveLength(1_001);
    expect(idsOf(view.history.slice(0, 2))).toEqual(['question', 'answer 5']);
    expect(view.truncated).toEqual({ history: 5 });
  });

  it('does not count messages beyond the requested historyLength', () => {
    const history = [sized('m1', 1_500), sized('m2', 1), sized('m3', 1)];
    expect(idsOf(boundView(task({ history }), 2).history)).toEqual(['m2', 'm3']);
    expect(boundView(task({ history }), 2).truncated).toBeUndefined();
    expect(boundView(task({ history: [sized('m0', 1_500), ...history] }), 4).truncated).toEqual({ history: 1 });
    expect(boundView(task({ history }), 0)).toMatchObject({ history: [] });
  });

  it('replaces a status message with a placeholder if it alone is too large', () => {
    const statusMessage = sized('status', 2_000, 'agent');
    const view = boundView(task({ statusMessage, artifacts: [published('a', text(1_000))] }));
    expect(view.statusMessage).toEqual({
      messageId: 'status',
      role: 'agent',
      parts: [placeholder(undefined)],
    });
    expect(view.artifacts).toEqual([{ artifactId: 'a', parts: text(1_000) }]);
    expect(view.truncated).toEqual({ statusMessage: 1 });
  });

  it('omits and counts messages that cannot be read', () => {
    const unreadable = { ...sized('m2', 1), message: null };
    const view = boundView(task({ history: [sized('m1', 1), unreadable, sized('m3', 1)], statusMessage: unreadable }));
    expect(idsOf(view.history)).toEqual(['m1', 'm3']);
    expect(view.statusMessage).toBeUndefined();
    expect(view.truncated).toEqual({ unreadable: 2 });
  });

  it('returns a placeholder for an artifact without readable parts', () => {
    const missingArtifact = (artifactId: string, missing: 'erased' | 'unreadable'): SizedArtifact => ({
      ...published(artifactId, []),
      missing,
    });
    const view = boundView(task({ artifacts: [missingArtifact('a', 'erased'), missingArtifact('b', 'unreadable')] }));
    expect(view.artifacts).toEqual([
      { artifactId: 'a', parts: [placeholder('a', undefined, 'erased')] },
      { artifactId: 'b', parts: [placeholder('b', undefined, 'unreadable')] },
    ]);
    expect(view.truncated).toEqual({ unreadable: 1 });
  });

  it('stays within the bound if none of the content fits', () => {
    const history = [withSize({ ...SUBMIT.message, parts: text(1_400) })];
    const artifacts = Array.from({ length: 20 }, (_, index) => published(`${'é'.repeat(250)}${index}`, text(200)));
    const view = boundView(task({ history, artifacts, statusMessage: sized('status', 1_700, 'agent') }));
    expect(viewBytes(view)).toBeLessThanOrEqual(BOUNDS.taskBytes);
    expect(view.artifacts).toHaveLength(20);
    expect(view.truncated).toEqual({ history: 1, parts: 19 });
  });
});
