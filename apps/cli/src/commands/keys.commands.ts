import { type ApiKey, ApiKeys, AuditLog, type IssuedApiKey } from '@app/access';
import { invalidField } from '@app/domain';
import { Command, Option } from 'commander';
import { operatorOf, withStorage } from '../session/database-session.js';
import { collect, JSON_OPTION, type OutputOptions, parseDuration } from '../options.js';
import { sanitizeForTerminal, print, table } from '../output/terminal.js';

interface CreateOptions extends OutputOptions {
  readonly tenant: string;
  readonly subject: string;
  readonly ring?: string[];
  readonly admin?: true;
  readonly worker?: true;
  readonly metrics?: true;
  readonly agent?: string[];
  readonly expires?: number;
}

/** Creates the commands for the API keys of all tenants. Only `create` and `rotate` print a token. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('Create, list, rotate and revoke API keys.');
  keys
    .command('create')
    .description('Create a key and print its token, which cannot be printed again.')
    .option('--tenant <tenant>', 'tenant of the key', 'default')
    .requiredOption('--subject <subject>', 'subject of the requests that use the key')
    .option(
      '--ring <ring>',
      'ring that the key can access; repeatable, the first one is the ring of new tasks',
      collect,
    )
    .addOption(new Option('--admin', 'create a key for an admin of the tenant').conflicts(['worker', 'metrics']))
    .addOption(
      new Option('--worker', 'create a key for a remote worker; requires --agent and --ring').conflicts('metrics'),
    )
    .option('--metrics', 'create a key that can read /metrics and nothing else')
    .option('--agent <agent>', 'agent that the worker can run; repeatable', collect)
    .option('--expires <duration>', 'time until the key expires, such as 90d or 12h (default: never)', parseDuration)
    .option(...JSON_OPTION)
    .action(create);
  keys
    .command('list')
    .description('List keys without their tokens, including revoked keys.')
    .option('--tenant <tenant>', 'only the keys of this tenant')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions & { tenant?: string }) => {
      const found = await withKeys((apiKeys) => apiKeys.list(operatorOf('default'), options.tenant ?? null));
      print(options, found, found.length === 0 ? ['No keys.'] : tableOf(found));
    });
  keys
    .command('rotate <id>')
    .description('Replace the token of a key and print the new one, which cannot be printed again.')
    .option(...JSON_OPTION)
    .action(async (id: string, options: OutputOptions) => {
      printToken(
        options,
        await withKeys(async (apiKeys) => requireKey(id, await apiKeys.rotate(operatorOf('default'), id))),
      );
    });
  keys
    .command('revoke <id>')
    .description('Revoke a key permanently.')
    .option(...JSON_OPTION)
    .action(async (id: string, options: OutputOptions) => {
      const key = await withKeys(async (apiKeys) => requireKey(id, await apiKeys.revoke(operatorOf('default'), id)));
      print(options, key, [`Revoked ${key.keyId}.`]);
    });
  return keys;
}

async function create(options: CreateOptions): Promise<void> {
  const { tenant: tenantId, subject, ring: rings = [], agent: agents = [], expires } = options;
  const role = roleOf(options);
  const expiresAt = expires === undefined ? null : new Date(Date.now() + expires);
  if ((role === 'member' || role === 'worker') && rings.length === 0)
    throw invalidField('--ring', `is required for a ${role} key; name at least one ring`);
  const request = { tenantId, subject, role, rings, agents, expiresAt } as const;
  printToken(options, await withKeys((apiKeys) => apiKeys.create(operatorOf(tenantId), request)));
}

function roleOf({ admin, worker, metrics }: CreateOptions): ApiKey['role'] {
  if (admin) return 'admin';
  if (metrics) return 'metrics';
  return worker ? 'worker' : 'member';
}

function printToken(options: OutputOptions, issued: IssuedApiKey): void {
  const { key, token } = issued;
  print(options, issued, [
    ...tableOf([key]),
    '',
    `Token: ${token}`,
    'Save the token now: only its hash is stored, so it cannot be printed again.',
  ]);
}

const tableOf = (keys: readonly ApiKey[]): string[] =>
  table(
    ['ID', 'TENANT', 'SUBJECT', 'ROLE', 'RINGS', 'AGENTS', 'STATE'],
    keys.map((key) => [
      key.keyId,
      sanitizeForTerminal(key.tenantId),
      sanitizeForTerminal(key.subject),
      key.role,
      sanitizeForTerminal(key.rings.join(' ')) || '-',
      sanitizeForTerminal(key.agents.join(' ')) || '-',
      stateOf(key),
    ]),
  );

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString()}`;
  if (expiresAt === null) return 'active';
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'active until'} ${expiresAt.toISOString()}`;
}

function requireKey<T>(id: string, found: T | null): T {
  if (found === null) throw new Error(`key ${id} not found: see \`acta keys list\``);
  return found;
}

const withKeys = <T>(work: (apiKeys: ApiKeys) => Promise<T>): Promise<T> =>
  withStorage(({ database }) => work(new ApiKeys(database, new AuditLog(database))));
