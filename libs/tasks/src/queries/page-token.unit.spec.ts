import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { ServerSecret } from '@app/storage';
import fc from 'fast-check';
import { PageTokens } from './page-token.js';

const tokens = new PageTokens(new ServerSecret('the secret of the token tests'));
const bound = ['acme', 'alice', null];
const position = ['2026-01-01T00:00:00.000Z', 'task-1'];

const opens = (token: string, boundTo: unknown = bound, by = tokens) => {
  try {
    return by.open(token, boundTo);
  } catch (error) {
    if (DomainError.is(error, 'InvalidParameters')) return null;
    throw error;
  }
};

describe('a page token', () => {
  it('opens to what was sealed, on any replica with the same secret', () => {
    const again = new PageTokens(new ServerSecret('the secret of the token tests'));
    expect(opens(tokens.seal(position, bound), bound, again)).toEqual(position);
  });

  // F25
  it('altered by any one character, cut or lengthened, does not open', () => {
    const token = tokens.seal(position, bound);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ';
    for (let at = 0; at < token.length; at += 1) {
      for (const other of alphabet) {
        if (other === token[at]) continue;
        expect(opens(token.slice(0, at) + other + token.slice(at + 1))).toBeNull();
      }
      expect(opens(token.slice(0, at))).toBeNull();
    }
    for (const more of ['A', '=', '==', ' ', '\n']) expect(opens(token + more)).toBeNull();
  });

  it('is bound to its caller and its question, and to the secret', () => {
    const token = tokens.seal(position, bound);
    expect(opens(token, ['acme', 'bob', null])).toBeNull();
    expect(opens(token, ['acme', 'alice', 'working'])).toBeNull();
    expect(opens(token, bound, new PageTokens(new ServerSecret('another secret')))).toBeNull();
  });

  it('is nothing that anyone could make up', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
        ),
        (token) => {
          expect(opens(token)).toBeNull();
        },
      ),
    );
  });
});
