import { sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint } from 'jose';
import { ServerSecret } from './server-secret.js';

const secret = new ServerSecret('the secret of all replicas, long enough');

describe('ServerSecret', () => {
  it('derives the same key for a purpose in every replica, and a different key for each purpose and secret', () => {
    const replica = new ServerSecret('the secret of all replicas, long enough');
    expect(replica.key('page-token')).toEqual(secret.key('page-token'));
    expect(replica.key('page-token')).not.toEqual(secret.key('push-credentials'));
    expect(new ServerSecret('a different secret, which is long enough too').key('page-token')).not.toEqual(
      secret.key('page-token'),
    );
  });

  it('derives a signing key for each purpose, whose id is the thumbprint of its public key', async () => {
    const { privateKey, publicKey, keyId, jwk } = secret.signingKey('agent-card');
    const data = Buffer.from('card');
    expect(verify(null, data, publicKey, sign(null, data, privateKey))).toBe(true);
    expect(keyId).toBe(await calculateJwkThumbprint({ ...jwk }));
    expect(secret.signingKey('webhook').keyId).not.toBe(keyId);
    expect(new ServerSecret('the secret of all replicas, long enough').signingKey('agent-card').keyId).toBe(keyId);
  });
});
