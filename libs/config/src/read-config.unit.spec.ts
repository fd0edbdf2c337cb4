import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from './config-error.js';
import { readConfig } from './read-config.js';
import type { Environment } from './environment-reader.js';

const SECRET = 'a secret that is long enough for anything';
const TOKEN = 'a token with at least 32 characters'.replaceAll(' ', '-');
const folder = mkdtempSync(join(tmpdir(), 'acta-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function errorOf(env: Environment): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error('readConfig accepted the environment');
}

describe('readConfig', () => {
  it('returns the documented defaults for an empty environment', () => {
    expect(readConfig({ PATH: '/bin' })).toEqual({
      host: '127.0.0.1',
      port: 8420,
      auditReads: 'others',
      databaseUrl: null,
      ownerDatabaseUrl: null,
      dataDir: resolve('.acta'),
      secretKey: null,
      token: null,
      auth: 'required',
      tls: null,
      trustProxy: false,
      publicUrl: null,
      agents: ['demo'],
      demoFaults: false,
      agentIsolation: 'process',
      agentUnresponsiveMs: 30_000,
      agentMemoryMiB: 1_024,
      agentUid: null,
      agentGid: null,
      runTimeoutMs: 3_600_000,
      workerConcurrency: 16,
      leaseMs: 30_000,
      maxAttempts: 5,
      cancelGraceMs: 5_000,
      drainMs: 500,
      cancelActive: 'fence',
      cardVersion: 'compatible',
      capabilities: new Set(['streaming', 'pushNotifications', 'extendedAgentCard']),
      pushAllowPrivate: false,
      pushTimeoutMs: 10_000,
      upstreamAllowPrivate: false,
      rateLimit: 5_000,
      tenantMaxQueued: 10_000,
      tenantMaxRunning: 0,
      oidc: null,
      logLevel: 'info',
    });
  });

  it('returns a frozen object', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });

  it('reads every variable', () => {
    const config = readConfig({
      HOST: '[::1]',
      PORT: '0',
      DATABASE_URL: 'postgresql://acta:pass@db:5433/acta?sslmode=require',
      ACTA_OWNER_DATABASE_URL: 'postgresql://owner:pass@db:5433/acta',
      ACTA_DATA_DIR: '/var/lib/acta',
      ACTA_SECRET_KEY: SECRET,
      ACTA_TOKEN: TOKEN,
      ACTA_AUTH: 'none',
      ACTA_PUBLIC_URL: 'https://agents.example.com/acta/',
      ACTA_AGENTS: ' ./mine.js, demo ',
      ACTA_DEMO_FAULTS: 'true',
      ACTA_WORKER_CONCURRENCY: '0',
      ACTA_LEASE_MS: '500',
      ACTA_MAX_ATTEMPTS: '2',
      ACTA_CANCEL_GRACE_MS: '0',
      ACTA_DRAIN_MS: '20000',
      ACTA_CANCEL_ACTIVE: 'holder-only',
      ACTA_CARD_VERSION: '1.0',
      ACTA_CAPABILITIES: 'streaming',
      ACTA_PUSH_ALLOW_PRIVATE: '1',
      ACTA_PUSH_TIMEOUT_MS: '30000',
      ACTA_UPSTREAM_ALLOW_PRIVATE: '1',
      ACTA_OIDC_ISSUER: 'https://id.example.com',
      ACTA_OIDC_AUDIENCE: 'acta',
      ACTA_OIDC_JWKS_URL: 'https://id.example.com/jwks',
      ACTA_OIDC_TENANT_CLAIM: 'https://acta/tenant',
      LOG_LEVEL: 'debug',
    });
    expect(config).toMatchObject({
      host: '::1',
      port: 0,
      databaseUrl: 'postgresql://acta:pass@db:5433/acta?sslmode=require',
      ownerDatabaseUrl: 'postgresql://owner:pass@db:5433/acta',
      dataDir: resolve('/var/lib/acta'),
      secretKey: SECRET,
      token: TOKEN,
      auth: 'none',
      publicUrl: 'https://agents.example.com/acta',
      agents: ['./mine.js', 'demo'],
      demoFaults: true,
      workerConcurrency: 0,
      leaseMs: 500,
      maxAttempts: 2,
      cancelGraceMs: 0,
      drainMs: 20_000,
      cancelActive: 'holder-only',
      cardVersion: '1.0',
      capabilities: new Set(['streaming']),
      pushAllowPrivate: true,
      pushTimeoutMs: 30_000,
      upstreamAllowPrivate: true,
      logLevel: 'debug',
      oidc: {
        issuer: 'https://id.example.com',
        audience: 'acta',
        jwksUrl: 'https://id.example.com/jwks',
        claims: { subject: 'sub', tenant: 'https://acta/tenant', rings: 'rings', admin: 'admin' },
      },
    });
  });

  it('treats an empty variable as not set, except for the capabilities', () => {
    const config = readConfig({ ACTA_TOKEN: '', DATABASE_URL: '  ', PORT: '', ACTA_CAPABILITIES: '' });
    expect(config).toMatchObject({ token: null, databaseUrl: null, port: 8420 });
    expect(config.capabilities.size).toBe(0);
  });

  it('rejects an unknown name and suggests a similar one', () => {
    expect(errorOf({ ACTA_LEASES_MS: '1' })).toBe(
      'ACTA_LEASES_MS is not a setting of Acta: use ACTA_LEASE_MS, or remove it.',
    );
    expect(errorOf({ ACTA_CAPABILITY: 'streaming' })).toContain('ACTA_CAPABILITIES');
    expect(errorOf({ ACTA_TOKN: 'x' })).toContain('use ACTA_TOKEN,');
    expect(errorOf({ ACTA_SECRET: 'x' })).not.toContain('use ACTA_AUTH');
  });

  it.each(['ACTA_FOO', 'ACTA_', 'ACTA_HOST', 'ACTA_URL', 'ACTA_DATABASE_NAME'])(
    'suggests no name for %s, because every known one is too different',
    (name) => {
      expect(errorOf({ [name]: '1' })).toBe(
        `${name} is not a setting of Acta: use a name of docs/environment.md, or remove it.`,
      );
    },
  );

  it.each<[string, Environment]>([
    ['PORT', { PORT: '65536' }],
    ['PORT', { PORT: '80a' }],
    ['HOST', { HOST: 'http://127.0.0.1' }],
    ['HOST', { HOST: '127.0.0.1:80' }],
    ['DATABASE_URL', { DATABASE_URL: 'mysql://localhost/x', ACTA_SECRET_KEY: SECRET }],
    ['ACTA_SECRET_KEY', { DATABASE_URL: 'postgres://localhost/x' }],
    ['ACTA_SECRET_KEY', { ACTA_SECRET_KEY: 'short' }],
    ['ACTA_SECRET_KEY_FILE', { ACTA_SECRET_KEY: SECRET, ACTA_SECRET_KEY_FILE: '/x' }],
    ['ACTA_SECRET_KEY_FILE', { ACTA_SECRET_KEY_FILE: join(folder, 'missing') }],
    ['ACTA_TOKEN', { ACTA_TOKEN: 'with a space' }],
    ['ACTA_AUTH', { ACTA_AUTH: 'off' }],
    ['ACTA_TLS_KEY', { ACTA_TLS_CERT: import.meta.filename }],
    ['ACTA_TRUST_PROXY', { ACTA_TRUST_PROXY: 'yes' }],
    ['ACTA_TRUST_PROXY', { ACTA_TRUST_PROXY: '10.0.0.0/33' }],
    ['ACTA_PUBLIC_URL', { ACTA_PUBLIC_URL: 'agents.example.com' }],
    ['ACTA_PUBLIC_URL', { ACTA_PUBLIC_URL: 'https://a.example/?x=1' }],
    ['ACTA_DEMO_FAULTS', { ACTA_DEMO_FAULTS: 'on' }],
    ['ACTA_WORKER_CONCURRENCY', { ACTA_WORKER_CONCURRENCY: '-1' }],
    ['ACTA_LEASE_MS', { ACTA_LEASE_MS: '30s' }],
    ['ACTA_MAX_ATTEMPTS', { ACTA_MAX_ATTEMPTS: '0' }],
    ['ACTA_CANCEL_ACTIVE', { ACTA_CANCEL_ACTIVE: 'holder' }],
    ['ACTA_CARD_VERSION', { ACTA_CARD_VERSION: '0.2' }],
    ['ACTA_CARD_VERSION', { ACTA_CARD_VERSION: 'Compatible' }],
    ['ACTA_CARD_VERSION', { ACTA_CARD_VERSION: '1.0,0.3' }],
    ['ACTA_CAPABILITIES', { ACTA_CAPABILITIES: 'streaming,push' }],
    ['ACTA_CAPABILITIES', { ACTA_CAPABILITIES: 'streaming,streaming' }],
    ['ACTA_CAPABILITIES', { ACTA_CAPABILITIES: ',' }],
    ['ACTA_AGENTS', { ACTA_AGENTS: 'demo,demo' }],
    ['ACTA_AGENTS', { ACTA_AGENTS: './a.mjs, demo, ./a.mjs' }],
    ['ACTA_AGENTS', { ACTA_AGENTS: ',' }],
    ['ACTA_AGENTS', { ACTA_AGENTS: 'demo,' }],
    ['ACTA_AGENTS', { ACTA_AGENTS: 'demo,,./a.mjs' }],
    ['ACTA_TRUST_PROXY', { ACTA_TRUST_PROXY: '10.0.0.1,,10.0.0.2' }],
    ['ACTA_TRUST_PROXY', { ACTA_TRUST_PROXY: ',' }],
    ['ACTA_OIDC_AUDIENCE', { ACTA_OIDC_ISSUER: 'https://i', ACTA_OIDC_JWKS_URL: 'https://i/keys' }],
    [
      'ACTA_OIDC_JWKS_URL',
      { ACTA_OIDC_ISSUER: 'i', ACTA_OIDC_AUDIENCE: 'a', ACTA_OIDC_JWKS_URL: 'http://id.example.com/keys' },
    ],
    ['LOG_LEVEL', { LOG_LEVEL: 'verbose' }],
  ])('rejects an invalid %s in one sentence that names it (%j)', (name, env) => {
    const message = errorOf(env);
    expect(message).toContain(name);
    expect(message).toMatch(/^[^\n]+\.$/);
  });

  it('never repeats a secret in an error', () => {
    const secret = 'hunter2 hunter2';
    for (const name of ['ACTA_SECRET_KEY', 'ACTA_SECRET_KEY_FILE', 'ACTA_TOKEN', 'ACTA_TLS_KEY', 'ACTA_PUBLIC_URL']) {
      expect(errorOf({ [name]: secret })).not.toContain('hunter2');
    }
    expect(errorOf({ DATABASE_URL: 'mysql://acta:hunter2@localhost/x' })).not.toContain('hunter2');
    expect(errorOf({ DATABASE_URL: 'postgres://acta:hunter2@localhost/x' })).not.toContain('hunter2');
  });

  it('reads the secret from a file, without the trailing line break', () => {
    const file = join(folder, 'secret');
    writeFileSync(file, `${SECRET}\n`);
    expect(readConfig({ ACTA_SECRET_KEY_FILE: file }).secretKey).toBe(SECRET);
  });

  it('trusts one proxy for ACTA_TRUST_PROXY=true, so that no client can choose its own address', () => {
    expect(readConfig({ ACTA_TRUST_PROXY: 'true' }).trustProxy).toBe(1);
    expect(readConfig({ ACTA_TRUST_PROXY: '2' }).trustProxy).toBe(2);
    expect(readConfig({ ACTA_TRUST_PROXY: '10.0.0.0/8, fd00::/8' }).trustProxy).toEqual(['10.0.0.0/8', 'fd00::/8']);
    expect(readConfig({ ACTA_TRUST_PROXY: 'false' }).trustProxy).toBe(false);
  });
});

describe('readConfig for a host that is open to a network', () => {
  const open = { HOST: '0.0.0.0' };

  it('requires TLS, or a proxy that terminates TLS', () => {
    expect(errorOf(open)).toContain('ACTA_TLS_CERT');
    expect(readConfig({ ...open, ACTA_TRUST_PROXY: 'true' }).host).toBe('0.0.0.0');
  });

  it.each([
    ['ACTA_AUTH', 'none'],
    ['ACTA_DEMO_FAULTS', 'true'],
  ])('rejects %s=%s', (name, value) => {
    expect(errorOf({ ...open, [name]: value })).toContain(name);
    for (const host of ['127.0.0.1', 'localhost', '::1', '127.8.0.1']) {
      expect(readConfig({ HOST: host, [name]: value }).host).toBe(host);
    }
  });

  it('rejects a server without authentication behind a proxy', () => {
    expect(errorOf({ ACTA_AUTH: 'none', ACTA_TRUST_PROXY: 'true' })).toContain('ACTA_TRUST_PROXY');
  });

  it.each(['x', 'letmein', 'x'.repeat(31)])('rejects the token %s, which is short enough to be guessed', (token) => {
    expect(errorOf({ ACTA_TOKEN: token })).toContain(
      `ACTA_TOKEN has ${token.length} ${token.length === 1 ? 'character' : 'characters'}, fewer than 32: create a token with`,
    );
    expect(readConfig({ ACTA_TOKEN: 'x'.repeat(32) }).token).toHaveLength(32);
  });
});
