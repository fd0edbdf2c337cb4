import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { AppendBatches } from './append-batches.js';
import type { AppendedRow } from './append.statement.js';

const ROW: AppendedRow = { outcome: 'appended', receipt_task: null, recorded_fingerprint: null };
const sqlError = (code: string) => Object.assign(new Error(`SQLSTATE ${code}`), { code, severity: 'ERROR' });
const LOCK_TIMEOUT = sqlError('55P03');

/** A statement that the test answers. The only value of an append is the name of its stream. */
interface Call {
  readonly streams: readonly string[];
  succeed(): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Returns batches over a database whose statements the test answers. `open` has the ones that are open. */
function aDatabase(lockRetryMs?: number) {
  const open: Call[] = [];
  const run = (_statement: unknown, values: readonly unknown[]) =>
    new Promise<AppendedRow[]>((resolve, reject) => {
      const streams = values as string[];
      const end = async (settle: () => void) => {
        open.splice(open.indexOf(call), 1);
        settle();
        await turn();
        await turn();
      };
      const call: Call = {
        streams,
        succeed: () => end(() => resolve(streams.map(() => ROW))),
        fail: (error) => end(() => reject(error)),
      };
      open.push(call);
    });
  const batches = new AppendBatches({ run: run as never }, lockRetryMs);
  const append = (stream: string, position = stream) => batches.append({ stream, position, values: [stream] });
  const streams = () => open.map((call) => call.streams);
  return { open, append, streams };
}

describe('AppendBatches', () => {
  it('sends at most one append of a stream at a time, so a locked stream occupies one of the three batches', async () => {
    const { open, append, streams } = aDatabase();
    const results = [append('locked'), append('locked'), append('locked')];
    await turn();
    expect(streams()).toEqual([['locked']]);
    const others = [append('b'), append('a')];
    await turn();
    expect(streams()).toEqual([['locked'], ['a', 'b']]);
    await open[1]!.succeed();
    expect(await Promise.all(others)).toEqual([ROW, ROW]);
    for (const _ of results) await open[0]!.succeed();
    expect(await Promise.all(results)).toEqual([ROW, ROW, ROW]);
  });

  it('repeats an append to a locked stream beside the batches, and the other appends of its batch before it', async () => {
    const { open, append, streams } = aDatabase();
    const locked = append('locked');
    const neighbours = ['a', 'b', 'c'].map((stream) => append(stream));
    await turn();
    await open[0]!.fail(LOCK_TIMEOUT);
    expect(streams()).toEqual([['a'], ['b'], ['c']]);
    for (const _ of neighbours) await open[0]!.succeed();
    expect(await Promise.all(neighbours)).toEqual([ROW, ROW, ROW]);
    expect(streams()).toEqual([['locked']]);
    await open[0]!.fail(LOCK_TIMEOUT);
    expect(streams()).toEqual([['locked']]);
    for (const stream of ['d', 'e', 'f', 'g']) {
      void append(stream);
      await turn();
    }
    expect(streams()).toEqual([['locked'], ['d'], ['e'], ['f']]);
    await open[0]!.succeed();
    expect(await locked).toEqual(ROW);
  });

  it('rejects an append to a locked stream with the error of the database, when its time is over', async () => {
    const { open, append, streams } = aDatabase(0);
    const first = append('locked');
    const second = append('locked');
    await turn();
    const rejected = expect(first).rejects.toBe(LOCK_TIMEOUT);
    await open[0]!.fail(LOCK_TIMEOUT);
    await open[0]!.fail(LOCK_TIMEOUT);
    await rejected;
    expect(streams()).toEqual([['locked']]);
    void append('other');
    await turn();
    expect(streams()).toEqual([['locked'], ['other']]);
    await open[0]!.succeed();
    expect(await second).toEqual(ROW);
  });

  it('sends the appends of a batch that was rolled back one by one, and rejects only the one that fails again', async () => {
    const { open, append, streams } = aDatabase();
    const [bad, good] = [append('bad'), append('good')];
    await turn();
    await open[0]!.fail(sqlError('22P02'));
    expect(streams()).toEqual([['bad'], ['good']]);
    const rejected = expect(bad).rejects.toMatchObject({ code: '22P02' });
    await open[0]!.fail(sqlError('22P02'));
    await open[0]!.succeed();
    await rejected;
    expect(await good).toEqual(ROW);
  });

  it('rejects every append of a batch whose outcome is unknown, and accepts the next ones of their streams', async () => {
    const { open, append, streams } = aDatabase();
    const results = Promise.allSettled([append('a'), append('b')]);
    await turn();
    await open[0]!.fail(new Error('Connection terminated unexpectedly'));
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    void append('a');
    await turn();
    expect(streams()).toEqual([['a']]);
  });

  it('sends the appends of a batch in the order of their positions', async () => {
    const { append, streams } = aDatabase();
    for (const [stream, position] of [
      ['a', '3'],
      ['b', '1'],
      ['c', '2'],
    ]) {
      void append(stream!, position);
    }
    await turn();
    expect(streams()).toEqual([['b', 'c', 'a']]);
  });
});
