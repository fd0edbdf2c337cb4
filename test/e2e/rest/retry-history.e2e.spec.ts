import { beforeAll, describe, expect, it } from '@jest/globals';
import { V1Caller } from '../../support/clients/rpc.js';
import { useServer } from '../../support/processes/spec-server.js';
import { TOKEN } from '../../support/processes/start-server.js';
import { SEVERAL_AGENTS } from '../agents/modules/agent-modules.js';
import { NativeApi } from './native-api.js';

let flaky: V1Caller;
let api: NativeApi;

const server = useServer({ ACTA_AGENTS: SEVERAL_AGENTS });
beforeAll(() => {
  flaky = new V1Caller(`${server.url}/agents/flaky`, TOKEN);
  api = new NativeApi(server.url, TOKEN);
});

interface Event {
  type: string;
  recordedAt: string;
  facts: { reason?: string; notBefore?: string; attempt?: number; counted?: boolean };
}
const eventsOf = (id: string): Promise<Event[]> => api.list<Event>(`${id}/events`, 'events');

describe('The retry policy of an agent', () => {
  it('is visible in the events, with the reason for each lost run and the time of the next attempt', async () => {
    const { id } = await flaky.send('twice');
    const events = await eventsOf(id);
    const ofType = (name: string) => events.filter(({ type }) => type === name);
    expect(ofType('RunLost').map(({ facts }) => facts.reason)).toEqual(['retryable-error', 'retryable-error']);
    const retried = ofType('RunRetried');
    expect(retried.map(({ facts }) => [facts.attempt, facts.counted])).toEqual([
      [1, true],
      [2, true],
    ]);
    retried.forEach(({ recordedAt, facts }, index) => {
      // The backoff doubles for each attempt. Half of it is jitter.
      const backoffMs = Date.parse(facts.notBefore!) - Date.parse(recordedAt);
      expect(backoffMs).toBeLessThanOrEqual(40 * 2 ** index + 1);
      const started = ofType('RunStarted')[index + 1]!;
      expect(started.recordedAt >= facts.notBefore!).toBe(true);
    });
    expect(events.at(-1)).toMatchObject({ type: 'TaskCompleted' });
    expect(await api.list(`${id}/runs`, 'runs')).toMatchObject([
      { attempt: 1, ending: 'RunLost' },
      { attempt: 2, ending: 'RunLost' },
      { attempt: 3, ending: 'TaskCompleted' },
    ]);
  });

  it('fails the task with a reason after the last attempt', async () => {
    const task = await flaky.send('always');
    expect(task.status).toMatchObject({ state: 'TASK_STATE_FAILED' });
    const events = await eventsOf(task.id);
    expect(events.filter(({ type }) => type === 'RunLost')).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ type: 'TaskFailed', facts: { reason: 'attempts-exhausted' } });
  });

  it('does not apply to an error that is not retryable', async () => {
    const { id } = await flaky.send('never');
    const types = (await eventsOf(id)).map(({ type }) => type);
    expect(types).toEqual(['TaskSubmitted', 'MessageAccepted', 'RunStarted', 'TaskFailed']);
  });
});
