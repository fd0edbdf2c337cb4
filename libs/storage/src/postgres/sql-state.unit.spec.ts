import { describe, expect, it } from '@jest/globals';
import { isRolledBack, isUnavailable } from './sql-state.js';

const sqlError = (code: string) => Object.assign(new Error('an error of the server'), { code, severity: 'ERROR' });
const systemError = (code: string) => Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });

describe('isUnavailable', () => {
  it.each(['08006', '40P01', '53300', '55P03', '57P01', '57P03', '58030', '25006'])(
    'is true for SQLSTATE %s',
    (code) => {
      expect(isUnavailable(sqlError(code))).toBe(true);
    },
  );

  it.each(['22P02', '23505', '42P01', 'AC403', 'XX000', '25001'])('is false for SQLSTATE %s', (code) => {
    expect(isUnavailable(sqlError(code))).toBe(false);
  });

  it.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT'])('is true for the network error %s', (code) => {
    expect(isUnavailable(systemError(code))).toBe(true);
  });

  it('is true for a connection that the driver or Kysely discarded', () => {
    expect(isUnavailable(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isUnavailable(new Error('Postgres connection has been discarded'))).toBe(true);
  });

  it('is false for an error that has nothing to do with the connection', () => {
    expect(isUnavailable(systemError('EACCES'))).toBe(false);
    expect(isUnavailable(new TypeError('x is not a function'))).toBe(false);
    expect(isUnavailable('a string')).toBe(false);
  });
});

describe('isRolledBack', () => {
  it.each(['22P02', '23505', '40P01', '53300', 'AC403'])('is true for SQLSTATE %s', (code) => {
    expect(isRolledBack(sqlError(code))).toBe(true);
  });

  it.each(['08006', '57P01', '58030'])('is false for SQLSTATE %s, after which the outcome is unknown', (code) => {
    expect(isRolledBack(sqlError(code))).toBe(false);
  });

  it.each(['EPIPE', 'ECONNRESET'])('is false for the network error %s', (code) => {
    expect(isRolledBack(systemError(code))).toBe(false);
  });
});
