import { expect, it } from '@jest/globals';
import { isUnavailable } from './sql-state.js';

const sqlError = (code: string) => Object.assign(new Error('the server said so'), { code, severity: 'ERROR' });
const systemError = (code: string) => Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });

it('tells a database that cannot be asked from one that was asked something wrong', () => {
  for (const code of ['08006', '40P01', '53300', '55P03', '57P01', '57P03', '58030', '25006']) {
    expect([code, isUnavailable(sqlError(code))]).toEqual([code, true]);
  }
  for (const code of ['22P02', '23505', '42P01', 'AC409', 'XX000', '25001']) {
    expect([code, isUnavailable(sqlError(code))]).toEqual([code, false]);
  }
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT']) {
    expect([code, isUnavailable(systemError(code))]).toEqual([code, true]);
  }
  expect(isUnavailable(systemError('EACCES'))).toBe(false);
  expect(isUnavailable(new Error('Connection terminated unexpectedly'))).toBe(true);
  expect(isUnavailable(new Error('Postgres connection has been discarded'))).toBe(true);
  expect(isUnavailable(new TypeError('x is not a function'))).toBe(false);
  expect(isUnavailable('a string')).toBe(false);
});
