import { resolve } from 'node:path';
import { type Config, LOG_LEVELS } from './config.js';
import { ConfigError } from './config-error.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { KNOWN_VARIABLES } from './known-variables.js';
import { rejectInsecureServer } from './insecure-server.js';
import { readOidc, readSecretKey, readTls, readToken } from './security-settings.js';
import {
  readAgents,
  readAgentUser,
  readCapabilities,
  readDatabaseUrl,
  readHost,
  readPublicUrl,
  readTrustProxy,
} from './server-settings.js';

/**
 * Reads the configuration from an environment.
 *
 * @throws ConfigError for an invalid value, an unknown `ACTA_*` name, or a combination that would leave the server open
 */
export function readConfig(env: Environment = process.env): Config {
  const read = new EnvironmentReader(env);
  read.rejectUnknown('ACTA_', KNOWN_VARIABLES);
  const config: Config = {
    host: readHost(read),
    port: read.integer('PORT', 8420, [0, 65_535]),
    databaseUrl: readDatabaseUrl(read, 'DATABASE_URL'),
    ownerDatabaseUrl: readDatabaseUrl(read, 'ACTA_OWNER_DATABASE_URL'),
    dataDir: resolve(read.text('ACTA_DATA_DIR', '.acta')),
    secretKey: readSecretKey(read),
    token: readToken(read),
    auth: read.oneOf('ACTA_AUTH', ['required', 'none'], 'required'),
    tls: readTls(read),
    trustProxy: readTrustProxy(read),
    publicUrl: readPublicUrl(read),
    agents: readAgents(read),
    demoFaults: read.flag('ACTA_DEMO_FAULTS'),
    agentIsolation: read.oneOf('ACTA_AGENT_ISOLATION', ['process', 'none'], 'process'),
    agentUnresponsiveMs: read.integer('ACTA_AGENT_UNRESPONSIVE_MS', 30_000, [2_000, 3_600_000]),
    agentMemoryMiB: read.integer('ACTA_AGENT_MEMORY_MB', 1_024, [64, 1_048_576]),
    ...readAgentUser(read),
    runTimeoutMs: read.integer('ACTA_RUN_TIMEOUT_MS', 3_600_000, [100, 2_147_483_647]),
    workerConcurrency: read.integer('ACTA_WORKER_CONCURRENCY', 16, [0, 1_024]),
    tenantMaxQueued: read.integer('ACTA_TENANT_MAX_QUEUED', 10_000, [1, 10_000_000]),
    tenantMaxRunning: read.integer('ACTA_TENANT_MAX_RUNNING', 0, [0, 1_000_000]),
    leaseMs: read.integer('ACTA_LEASE_MS', 30_000, [100, 3_600_000]),
    maxAttempts: read.integer('ACTA_MAX_ATTEMPTS', 5, [1, 100]),
    cancelGraceMs: read.integer('ACTA_CANCEL_GRACE_MS', 5_000, [0, 600_000]),
    drainMs: read.integer('ACTA_DRAIN_MS', 500, [0, 600_000]),
    cancelActive: read.oneOf('ACTA_CANCEL_ACTIVE', ['fence', 'holder-only'], 'fence'),
    cardVersion: read.oneOf('ACTA_CARD_VERSION', ['compatible', '0.3', '1.0'], 'compatible'),
    capabilities: readCapabilities(read),
    pushAllowPrivate: read.flag('ACTA_PUSH_ALLOW_PRIVATE'),
    pushTimeoutMs: read.integer('ACTA_PUSH_TIMEOUT_MS', 10_000, [100, 60_000]),
    upstreamAllowPrivate: read.flag('ACTA_UPSTREAM_ALLOW_PRIVATE'),
    rateLimit: read.integer('ACTA_RATE_LIMIT', 5_000, [0, 1_000_000]),
    oidc: readOidc(read),
    auditReads: read.oneOf('ACTA_AUDIT_READS', ['others', 'all'], 'others'),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
  };
  rejectInsecureServer(config);
  if (config.databaseUrl !== null && config.secretKey === null) {
    throw new ConfigError(
      'ACTA_SECRET_KEY is missing, but DATABASE_URL requires it: set it (or ACTA_SECRET_KEY_FILE) to one secret for all replicas, such as the output of `openssl rand -base64 32`.',
    );
  }
  return Object.freeze(config);
}
