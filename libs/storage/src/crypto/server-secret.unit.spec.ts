import { sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint } from 'jose';
import { ServerSecret } from './server-secret.js';

const secret = new ServerSecret('one secret of all replicas, long enough');

describe('the server secret', () => {
  it('gives every replica the same key for a purpose, and each purpose its own', () => {
    const replica = new ServerSecret('one secret of all replicas, long enough');
    expect(replica.key('page-token')).toEqual(secret.key('page-token'));
    expect(replica.key('page-token')).not.toEqual(secret.key('fingerprint'));
    expect(new ServerSecret('another secret, which is long enough too').key('page-token')).not.toEqual(
      secret.key('page-token'),
    );
  });

  it('gives a signing key for each purpose, named by the thumbprint of its public half', async () => {
    const { privateKey, publicKey, keyId, jwk } = secret.signingKey('agent-card');
    const data = Buffer.from('card');
    expect(verify(null, data, publicKey, sign(null, data, privateKey))).toBe(true);
    expect(keyId).toBe(await calculateJwkThumbprint({ ...jwk }));
    expect(secret.signingKey('webhook').keyId).not.toBe(keyId);
    expect(new ServerSecret('one secret of all replicas, long enough').signingKey('agent-card').keyId).toBe(keyId);
  });
});
