import { describe, expect, it } from '@jest/globals';
import { failureOfResponse } from './webhook-failure.js';

const kindOf = (status: number, headers = {}) => failureOfResponse({ status, headers }, 0)?.kind ?? 'accepted';

describe('failureOfResponse', () => {
  it.each([200, 201, 202, 204, 206, 226, 299])('accepts the status %i', (status) => {
    expect(kindOf(status)).toBe('accepted');
  });

  it('retires the webhook for the status 410, with and without Retry-After', () => {
    expect(kindOf(410)).toBe('retired');
    expect(kindOf(410, { 'retry-after': '60' })).toBe('retired');
  });

  it.each([
    400, 401, 402, 403, 404, 405, 406, 407, 411, 412, 413, 414, 415, 416, 417, 418, 422, 426, 428, 431, 451, 499,
  ])('rejects the request for the status %i', (status) => {
    expect(kindOf(status)).toBe('rejected');
  });

  it.each([408, 409, 421, 423, 424, 425, 429])('allows another attempt for the status %i', (status) => {
    expect(kindOf(status)).toBe('temporary');
  });

  it.each([500, 501, 502, 503, 504, 507, 508, 511, 599, 600, 999])(
    'allows another attempt for the status %i of a server that fails',
    (status) => {
      expect(kindOf(status)).toBe('temporary');
    },
  );

  it.each([300, 302, 303, 304, 307])('allows another attempt for the temporary redirect %i', (status) => {
    expect(kindOf(status)).toBe('temporary');
  });

  it.each([301, 308])('rejects the request for the permanent redirect %i', (status) => {
    expect(kindOf(status)).toBe('rejected');
  });

  it.each([403, 404, 413])('allows another attempt for the status %i with a valid Retry-After', (status) => {
    const failure = failureOfResponse({ status, headers: { 'retry-after': '5' } }, 0);
    expect(failure).toMatchObject({ kind: 'temporary', status, retryAfterMs: 5_000 });
    expect(kindOf(status, { 'retry-after': 'soon' })).toBe('rejected');
  });

  it('has a message without the URL and the headers of the target', () => {
    const headers = { 'retry-after': '5', location: 'https://secret.example/' };
    expect(failureOfResponse({ status: 503, headers }, 0)!.message).toBe('the target responded with status 503');
  });
});
