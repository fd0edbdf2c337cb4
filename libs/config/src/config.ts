import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { ConfigError } from './config-error.js';
import { alternatives, type Environment, EnvironmentReader, invalidValue } from './environment.js';
import { isLoopback, MAX_PROXIES, parseHost, parseTrustProxy } from '@app/network';

export const CAPABILITIES = ['streaming', 'pushNotifications', 'extendedAgentCard'] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Whose JSON Web Tokens are accepted, and which of their claims say what. */
export interface OidcConfig {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
  /** Names of top-level claims. */
  readonly claims: {
    readonly subject: string;
    readonly tenant: string;
    readonly rings: string;
    readonly admin: string;
  };
}

/** Everything that the environment decides. */
export interface Config {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Null: the embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | null;
  /** Absolute. */
  readonly dataDir: string;
  /** Null: the generated one of the embedded database. */
  readonly secretKey: string | null;
  /** Null: the generated one in `dataDir`. */
  readonly token: string | null;
  readonly auth: 'required' | 'none';
  /** PEM text, of which certificate and key belong together. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Number of proxies in front, or their addresses and networks. Fastify takes it as it is. */
  readonly trustProxy: false | number | string[];
  /** Without a slash at the end. Null: made from host and port. */
  readonly publicUrl: string | null;
  readonly agents: readonly string[];
  readonly demoFaults: boolean;
  /** 0: no runs in this process. */
  readonly workerConcurrency: number;
  /** Tasks of one tenant that may wait for a worker. */
  readonly tenantMaxQueued: number;
  /** Runs of one tenant at a time, in all processes together. 0: no limit. */
  readonly tenantMaxRunning: number;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly cancelGraceMs: number;
  /** How long live runs may go on after SIGTERM before they are handed back. */
  readonly drainMs: number;
  readonly cancelActive: 'fence' | 'holder-only';
  readonly cardVersion: '0.3' | '1.0';
  readonly capabilities: ReadonlySet<Capability>;
  readonly pushAllowPrivate: boolean;
  readonly pushTimeoutMs: number;
  /** Agents elsewhere that work is forwarded to may be on http, and on addresses that are not public. */
  readonly upstreamAllowPrivate: boolean;
  /** Requests a second of one caller, in bursts of twice as many. 0: no limit. */
  readonly rateLimit: number;
  readonly oidc: OidcConfig | null;
  readonly logLevel: LogLevel;
}

const KNOWN = [
  'ACTA_AGENTS',
  'ACTA_AUTH',
  'ACTA_CANCEL_ACTIVE',
  'ACTA_CANCEL_GRACE_MS',
  'ACTA_CAPABILITIES',
  'ACTA_CARD_VERSION',
  'ACTA_DATA_DIR',
  'ACTA_DEMO_FAULTS',
  'ACTA_DRAIN_MS',
  'ACTA_LEASE_MS',
  'ACTA_MAX_ATTEMPTS',
  'ACTA_OIDC_ADMIN_CLAIM',
  'ACTA_OIDC_AUDIENCE',
  'ACTA_OIDC_ISSUER',
  'ACTA_OIDC_JWKS_URL',
  'ACTA_OIDC_RINGS_CLAIM',
  'ACTA_OIDC_SUBJECT_CLAIM',
  'ACTA_OIDC_TENANT_CLAIM',
  'ACTA_PUBLIC_URL',
  'ACTA_PUSH_ALLOW_PRIVATE',
  'ACTA_PUSH_TIMEOUT_MS',
  'ACTA_RATE_LIMIT',
  'ACTA_SECRET_KEY',
  'ACTA_SECRET_KEY_FILE',
  'ACTA_TENANT_MAX_QUEUED',
  'ACTA_TENANT_MAX_RUNNING',
  'ACTA_TLS_CERT',
  'ACTA_TLS_KEY',
  'ACTA_TOKEN',
  'ACTA_TRUST_PROXY',
  'ACTA_UPSTREAM_ALLOW_PRIVATE',
  'ACTA_WORKER_CONCURRENCY',
];

const SECRET_LENGTH = 32;
/** Of a token of one's own making that is exposed to a network. */
const TOKEN_LENGTH = 16;

/**
 * The configuration that an environment describes.
 *
 * @throws ConfigError for a wrong value, an unknown `ACTA_*` name, or a combination that would leave the server open
 */
export function readConfig(env: Environment = process.env): Config {
  const read = new EnvironmentReader(env);
  read.rejectUnknown('ACTA_', KNOWN);
  const config: Config = {
    host: readHost(read),
    port: read.integer('PORT', 8420, [0, 65_535]),
    databaseUrl: databaseUrl(read),
    dataDir: resolve(read.text('ACTA_DATA_DIR', '.acta')),
    secretKey: secretKey(read),
    token: token(read),
    auth: read.oneOf('ACTA_AUTH', ['required', 'none'], 'required'),
    tls: tls(read),
    trustProxy: readTrustProxy(read),
    publicUrl: publicUrl(read),
    agents: Object.freeze(agents(read)),
    demoFaults: read.flag('ACTA_DEMO_FAULTS'),
    workerConcurrency: read.integer('ACTA_WORKER_CONCURRENCY', 16, [0, 1_024]),
    tenantMaxQueued: read.integer('ACTA_TENANT_MAX_QUEUED', 10_000, [1, 10_000_000]),
    tenantMaxRunning: read.integer('ACTA_TENANT_MAX_RUNNING', 0, [0, 1_000_000]),
    leaseMs: read.integer('ACTA_LEASE_MS', 30_000, [100, 3_600_000]),
    maxAttempts: read.integer('ACTA_MAX_ATTEMPTS', 5, [1, 100]),
    cancelGraceMs: read.integer('ACTA_CANCEL_GRACE_MS', 5_000, [0, 600_000]),
    drainMs: read.integer('ACTA_DRAIN_MS', 500, [0, 600_000]),
    cancelActive: read.oneOf('ACTA_CANCEL_ACTIVE', ['fence', 'holder-only'], 'fence'),
    cardVersion: read.oneOf('ACTA_CARD_VERSION', ['0.3', '1.0'], '0.3'),
    capabilities: capabilities(read, env),
    pushAllowPrivate: read.flag('ACTA_PUSH_ALLOW_PRIVATE'),
    pushTimeoutMs: read.integer('ACTA_PUSH_TIMEOUT_MS', 10_000, [100, 60_000]),
    upstreamAllowPrivate: read.flag('ACTA_UPSTREAM_ALLOW_PRIVATE'),
    rateLimit: read.integer('ACTA_RATE_LIMIT', 5_000, [0, 1_000_000]),
    oidc: oidc(read),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
  };
  refuseOpenServer(config);
  if (config.databaseUrl !== null && config.secretKey === null) {
    throw new ConfigError(
      'ACTA_SECRET_KEY is missing, which DATABASE_URL requires: set it (or ACTA_SECRET_KEY_FILE) to one secret for all replicas, such as the output of `openssl rand -base64 32`.',
    );
  }
  return Object.freeze(config);
}

/** Nothing is open to a network without credentials and encryption. */
function refuseOpenServer({ host, auth, demoFaults, tls, trustProxy, token }: Config): void {
  if (auth === 'none' && trustProxy !== false) {
    throw new ConfigError(
      'ACTA_AUTH=none lets in whatever the proxy of ACTA_TRUST_PROXY forwards: remove one of the two.',
    );
  }
  if (isLoopback(host)) return;
  const where = `while HOST is ${JSON.stringify(host)}`;
  if (auth === 'none') {
    throw new ConfigError(
      `ACTA_AUTH=none is refused ${where}: set HOST to a loopback address such as 127.0.0.1, or remove it.`,
    );
  }
  if (demoFaults) {
    throw new ConfigError(
      `ACTA_DEMO_FAULTS is refused ${where}: set HOST to a loopback address such as 127.0.0.1, or remove it.`,
    );
  }
  if (tls === null && trustProxy === false) {
    throw new ConfigError(
      `HOST is ${JSON.stringify(host)}, which is open to a network without encryption: set ACTA_TLS_CERT and ACTA_TLS_KEY, or ACTA_TRUST_PROXY behind a proxy that ends TLS.`,
    );
  }
  if (token !== null && token.length < TOKEN_LENGTH) {
    throw new ConfigError(
      `ACTA_TOKEN has fewer than ${TOKEN_LENGTH} characters ${where}: use a longer one, such as the output of \`openssl rand -hex 32\`.`,
    );
  }
}

function databaseUrl(read: EnvironmentReader): string | null {
  const url = read.url(
    'DATABASE_URL',
    ['postgres:', 'postgresql:'],
    'use postgresql://user:password@host:port/database',
  );
  return url === null ? null : read.optional('DATABASE_URL');
}

function secretKey(read: EnvironmentReader): string | null {
  const given = read.optional('ACTA_SECRET_KEY');
  if (given !== null && read.optional('ACTA_SECRET_KEY_FILE') !== null) {
    throw new ConfigError('ACTA_SECRET_KEY and ACTA_SECRET_KEY_FILE are both set: remove one of them.');
  }
  const name = given === null ? 'ACTA_SECRET_KEY_FILE' : 'ACTA_SECRET_KEY';
  const secret = given ?? read.file(name)?.trim() ?? null;
  if (secret !== null && secret.length < SECRET_LENGTH) {
    throw new ConfigError(
      `${name} holds fewer than ${SECRET_LENGTH} characters: make a secret with \`openssl rand -base64 32\`.`,
    );
  }
  return secret;
}

function token(read: EnvironmentReader): string | null {
  const value = read.optional('ACTA_TOKEN');
  // The syntax of a bearer token (RFC 6750 section 2.1): no header could present anything else.
  if (value !== null && !/^[\w.~+/-]+=*$/.test(value)) {
    throw new ConfigError(
      'ACTA_TOKEN cannot be sent as a bearer token: use letters, digits and -._~+/ only, such as the output of `openssl rand -hex 32`.',
    );
  }
  return value;
}

function tls(read: EnvironmentReader): Config['tls'] {
  const [cert, key] = [read.file('ACTA_TLS_CERT'), read.file('ACTA_TLS_KEY')];
  if (cert === null && key === null) return null;
  if (cert === null || key === null) {
    const [missing, present] = cert === null ? ['ACTA_TLS_CERT', 'ACTA_TLS_KEY'] : ['ACTA_TLS_KEY', 'ACTA_TLS_CERT'];
    throw new ConfigError(`${missing} is missing while ${present} is set: set both or neither.`);
  }
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new ConfigError(
      'ACTA_TLS_CERT and ACTA_TLS_KEY are not a certificate and its key: use two PEM files that belong together, the key without a passphrase.',
    );
  }
  return Object.freeze({ cert, key });
}

function publicUrl(read: EnvironmentReader): string | null {
  const advice = 'use http(s)://host with an optional port and path, without credentials, query or fragment';
  const url = read.url('ACTA_PUBLIC_URL', ['http:', 'https:'], advice);
  if (url === null) return null;
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw new ConfigError(`ACTA_PUBLIC_URL has more than a base URL: ${advice}.`);
  }
  return url.href.replace(/\/+$/, '');
}

function agents(read: EnvironmentReader): string[] {
  const listed = read.list('ACTA_AGENTS');
  return listed.length === 0 ? ['demo'] : [...new Set(listed)];
}

function capabilities(read: EnvironmentReader, env: Environment): ReadonlySet<Capability> {
  // Here nothing is a value: a server that advertises no capability at all.
  if (env['ACTA_CAPABILITIES'] === undefined) return new Set(CAPABILITIES);
  return new Set(
    read.list('ACTA_CAPABILITIES').map((name) => {
      const capability = CAPABILITIES.find((known) => known === name);
      if (capability === undefined) {
        throw invalidValue('ACTA_CAPABILITIES', name, `list any of ${alternatives(CAPABILITIES)}, separated by commas`);
      }
      return capability;
    }),
  );
}

function oidc(read: EnvironmentReader): OidcConfig | null {
  const names = ['ACTA_OIDC_ISSUER', 'ACTA_OIDC_AUDIENCE', 'ACTA_OIDC_JWKS_URL'] as const;
  const claims = Object.freeze({
    subject: read.text('ACTA_OIDC_SUBJECT_CLAIM', 'sub'),
    tenant: read.text('ACTA_OIDC_TENANT_CLAIM', 'tenant'),
    rings: read.text('ACTA_OIDC_RINGS_CLAIM', 'rings'),
    admin: read.text('ACTA_OIDC_ADMIN_CLAIM', 'admin'),
  });
  const [issuer, audience] = [read.optional(names[0]), read.optional(names[1])];
  const jwksUrl = read.url(names[2], ['http:', 'https:'], 'use the https address of the JSON Web Key Set');
  if (issuer === null && audience === null && jwksUrl === null) return null;
  if (issuer === null || audience === null || jwksUrl === null) {
    const missing = names.find((name) => read.optional(name) === null)!;
    throw new ConfigError(`${missing} is missing: set ${names[0]}, ${names[1]} and ${names[2]} together.`);
  }
  // Whoever can change these keys in transit can be anyone.
  if (jwksUrl.protocol === 'http:' && !isLoopback(jwksUrl.hostname)) {
    throw new ConfigError(`${names[2]} is fetched without encryption: use https (http only for a loopback address).`);
  }
  return Object.freeze({ issuer, audience, jwksUrl: jwksUrl.href, claims });
}

function readHost(read: EnvironmentReader): string {
  const value = read.text('HOST', '127.0.0.1');
  const host = parseHost(value);
  if (host === null) throw invalidValue('HOST', value, 'use an address such as 127.0.0.1, without a scheme and a port');
  return host;
}

function readTrustProxy(read: EnvironmentReader): Config['trustProxy'] {
  const value = read.optional('ACTA_TRUST_PROXY');
  const proxies = parseTrustProxy(value);
  if (proxies !== null) return proxies;
  throw invalidValue(
    'ACTA_TRUST_PROXY',
    value!,
    `use true, the number of proxies in front (at most ${MAX_PROXIES}), or their addresses and networks, separated by commas`,
  );
}
