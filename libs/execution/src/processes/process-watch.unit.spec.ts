import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ProcessWatch } from './process-watch.js';

function start(limits = { unresponsiveMs: 5_000, memoryMiB: 1_000_000 }) {
  const actions = { ping: jest.fn(), onUnresponsive: jest.fn(), kill: jest.fn() };
  const watch = new ProcessWatch(process.pid, limits, actions);
  watch.start();
  return { watch, actions };
}

describe('ProcessWatch', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'hrtime'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('pings each second, and does nothing else while the process responds', () => {
    const { watch, actions } = start();
    actions.ping.mockImplementation(() => void setTimeout(() => watch.onPong(), 10));
    jest.advanceTimersByTime(100);
    watch.onPong();
    jest.advanceTimersByTime(20_000);
    expect(actions.ping.mock.calls.length).toBeGreaterThanOrEqual(20);
    expect([watch.isResponsive, actions.onUnresponsive.mock.calls, actions.kill.mock.calls]).toEqual([true, [], []]);
    watch.stop();
  });

  it('reports once that the process does not respond, and kills it at the limit', () => {
    const { watch, actions } = start();
    jest.advanceTimersByTime(1_500);
    expect(watch.isResponsive).toBe(false);
    jest.advanceTimersByTime(2_500);
    expect(actions.onUnresponsive).toHaveBeenCalledTimes(1);
    expect(actions.kill).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1_500);
    expect(actions.kill).toHaveBeenCalledWith('agent process did not respond for 5 s');
    watch.stop();
  });

  it('is responsive again after a late response', () => {
    const { watch, actions } = start();
    jest.advanceTimersByTime(3_000);
    watch.onPong();
    expect(watch.isResponsive).toBe(true);
    jest.advanceTimersByTime(4_000);
    expect(actions.onUnresponsive).toHaveBeenCalledTimes(2);
    expect(actions.kill).not.toHaveBeenCalled();
    watch.stop();
  });

  it('does not count the time in which this process itself was stopped', () => {
    const { watch, actions } = start();
    jest.advanceTimersByTime(400);
    const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
    jest.advanceTimersByTime(600);
    now.mockRestore();
    expect(actions.kill).not.toHaveBeenCalled();
    watch.stop();
  });

  it('kills a process above its memory limit', async () => {
    jest.useRealTimers();
    const { watch, actions } = start({ unresponsiveMs: 60_000, memoryMiB: 1 });
    await new Promise<void>((resolve) => actions.kill.mockImplementation(() => resolve()));
    watch.stop();
    expect(actions.kill).toHaveBeenCalledWith('agent process used more than 1 MiB of memory');
  });
});
