export const CAPABILITIES = ['streaming', 'pushNotifications', 'extendedAgentCard'] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The identity provider whose JSON Web Tokens are accepted, and the names of their claims. */
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

/** The settings that the environment determines. */
export interface Config {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: the embedded Postgres in `dataDir`. */
  readonly databaseUrl: string | null;
  /** The role that owns the schema. Null: unknown, or the role of `databaseUrl`. */
  readonly ownerDatabaseUrl: string | null;
  /** Absolute path. */
  readonly dataDir: string;
  /** Null: the generated secret of the embedded database. */
  readonly secretKey: string | null;
  /** Null: the generated token in `dataDir`. */
  readonly token: string | null;
  readonly auth: 'required' | 'none';
  /** PEM text of a certificate and its key. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** The number of proxies in front of the server, or their addresses and networks, as Fastify expects it. */
  readonly trustProxy: false | number | string[];
  /** Without a trailing slash. Null: derived from host and port. */
  readonly publicUrl: string | null;
  readonly agents: readonly string[];
  readonly demoFaults: boolean;
  /** Where agent modules run: each in processes of its own, or all in this process, for debugging. */
  readonly agentIsolation: 'process' | 'none';
  /** How long an agent process may not respond before it is killed. */
  readonly agentUnresponsiveMs: number;
  /** Maximum resident memory of one agent process, in MiB. */
  readonly agentMemoryMiB: number;
  /** User and group of the agent processes. Null: those of this process. */
  readonly agentUid: number | null;
  readonly agentGid: number | null;
  /** Maximum duration of a run, except of upstream agents. */
  readonly runTimeoutMs: number;
  /** Maximum number of concurrent runs in this process. 0: no runs. */
  readonly workerConcurrency: number;
  /** Maximum number of queued tasks of one tenant. */
  readonly tenantMaxQueued: number;
  /** Maximum number of concurrent runs of one tenant in all processes. 0: no limit. */
  readonly tenantMaxRunning: number;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly cancelGraceMs: number;
  /** How long active runs may continue after SIGTERM before they are released. */
  readonly drainMs: number;
  readonly cancelActive: 'fence' | 'holder-only';
  /** The card for a request without `A2A-Version`. `compatible`: the card of 0.3, with the fields of 1.0. */
  readonly cardVersion: 'compatible' | '0.3' | '1.0';
  readonly capabilities: ReadonlySet<Capability>;
  readonly pushAllowPrivate: boolean;
  readonly pushTimeoutMs: number;
  /** Allows upstream agents on http, and on addresses that are not public. */
  readonly upstreamAllowPrivate: boolean;
  /** Requests per second of one caller, in bursts of twice that number. 0: no limit. */
  readonly rateLimit: number;
  readonly oidc: OidcConfig | null;
  /** Whose reads the audit log records. `others`: those of tasks of other users. `all`: also those of own tasks. */
  readonly auditReads: 'others' | 'all';
  readonly logLevel: LogLevel;
}
