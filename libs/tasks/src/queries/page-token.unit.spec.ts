import { describe, expect, it } from '@jest/globals';
import { DomainError } from '@app/domain';
import { ServerSecret } from '@app/storage';
import fc from 'fast-check';
import { PageTokens } from './page-token.js';

const tokens = new PageTokens(new ServerSecret('the secret of the token tests'));
const bound = ['acme', 'alice', null];
const position = ['2026-01-01T00:00:00.000Z', 'task-1'];

const decrypt = (token: string, boundTo: unknown = bound, by = tokens) => {
  try {
    return by.decrypt(token, boundTo);
  } catch (error) {
    if (DomainError.is(error, 'InvalidParameters')) return null;
    throw error;
  }
};

describe('A page token', () => {
  it('is decrypted to its position by any replica with the same secret', () => {
    const again = new PageTokens(new ServerSecret('the secret of the token tests'));
    expect(decrypt(tokens.encrypt(position, bound), bound, again)).toEqual(position);
  });

  // F25
  it('is rejected if a character was changed, removed or added', () => {
    const token = tokens.encrypt(position, bound);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ';
    for (let index = 0; index < token.length; index += 1) {
      for (const other of alphabet) {
        if (other === token[index]) continue;
        expect(decrypt(token.slice(0, index) + other + token.slice(index + 1))).toBeNull();
      }
      expect(decrypt(token.slice(0, index))).toBeNull();
    }
    for (const more of ['A', '=', '==', ' ', '\n']) expect(decrypt(token + more)).toBeNull();
  });

  it('is rejected for a different caller, a different filter or under a different secret', () => {
    const token = tokens.encrypt(position, bound);
    expect(decrypt(token, ['acme', 'bob', null])).toBeNull();
    expect(decrypt(token, ['acme', 'alice', 'working'])).toBeNull();
    expect(decrypt(token, bound, new PageTokens(new ServerSecret('a different secret')))).toBeNull();
  });

  it('is rejected if no server has issued it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
        ),
        (token) => {
          expect(decrypt(token)).toBeNull();
        },
      ),
    );
  });
});
