import { type ApiKey, ApiKeys, AuditLog, type IssuedApiKey } from '@app/access';
import { invalidField } from '@app/domain';
import { Command, Option } from 'commander';
import { operatorOf, withStorage } from '../session/database-session.js';
import { collect, JSON_OPTION, type OutputOptions, parseDuration } from '../options.js';
import { harmless, print, table } from '../output/terminal.js';

interface CreateOptions extends OutputOptions {
  readonly tenant: string;
  readonly subject: string;
  readonly ring?: string[];
  readonly admin?: true;
  readonly worker?: true;
  readonly agent?: string[];
  readonly expires?: number;
}

/** API keys, of all tenants. A token is shown when it is made, and never again. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('Make, list, rotate and revoke API keys.');
  keys
    .command('create')
    .description('Make a key, and print its token this once.')
    .option('--tenant <tenant>', 'whose key it is', 'default')
    .requiredOption('--subject <subject>', 'who calls with it')
    .option(
      '--ring <ring>',
      'a ring that it sees; give several in their order, the first is that of new tasks',
      collect,
    )
    .addOption(new Option('--admin', 'for an admin of the tenant').conflicts('worker'))
    .addOption(new Option('--worker', 'for a remote worker, which needs --agent and --ring'))
    .option('--agent <agent>', 'an agent that the worker may run; can be given several times', collect)
    .option('--expires <duration>', 'when it stops working, such as 90d or 12h (otherwise never)', parseDuration)
    .option(...JSON_OPTION)
    .action(create);
  keys
    .command('list')
    .description('List keys, revoked ones included, without their tokens.')
    .option('--tenant <tenant>', 'of one tenant only')
    .option(...JSON_OPTION)
    .action(async (options: OutputOptions & { tenant?: string }) => {
      const found = await withKeys((apiKeys) => apiKeys.list(operatorOf('default'), options.tenant ?? null));
      print(options, found, found.length === 0 ? ['There are no keys.'] : tableOf(found));
    });
  keys
    .command('rotate <id>')
    .description('Give a key another token, and print it this once; the one before stops working.')
    .option(...JSON_OPTION)
    .action(async (id: string, options: OutputOptions) => {
      printToken(
        options,
        await withKeys(async (apiKeys) => there(id, await apiKeys.rotate(operatorOf('default'), id))),
      );
    });
  keys
    .command('revoke <id>')
    .description('Make a key worthless, for good.')
    .option(...JSON_OPTION)
    .action(async (id: string, options: OutputOptions) => {
      const key = await withKeys(async (apiKeys) => there(id, await apiKeys.revoke(operatorOf('default'), id)));
      print(options, key, [`Revoked ${key.keyId}.`]);
    });
  return keys;
}

async function create(options: CreateOptions): Promise<void> {
  const { tenant: tenantId, subject, ring: rings = [], agent: agents = [], expires } = options;
  const role = options.admin ? 'admin' : options.worker ? 'worker' : 'member';
  const expiresAt = expires === undefined ? null : new Date(Date.now() + expires);
  if (role !== 'admin' && rings.length === 0) throw invalidField('--ring', `a ${role} needs at least one`);
  const request = { tenantId, subject, role, rings, agents, expiresAt } as const;
  printToken(options, await withKeys((apiKeys) => apiKeys.create(operatorOf(tenantId), request)));
}

function printToken(options: OutputOptions, issued: IssuedApiKey): void {
  const { key, token } = issued;
  print(options, issued, [
    ...tableOf([key]),
    '',
    `Token: ${token}`,
    'Keep it now: only its hash is stored, and it is never shown again.',
  ]);
}

const tableOf = (keys: readonly ApiKey[]): string[] =>
  table(
    ['ID', 'TENANT', 'SUBJECT', 'ROLE', 'RINGS', 'AGENTS', 'STATE'],
    keys.map((key) => [
      key.keyId,
      harmless(key.tenantId),
      harmless(key.subject),
      key.role,
      harmless(key.rings.join(' ')) || '-',
      harmless(key.agents.join(' ')) || '-',
      stateOf(key),
    ]),
  );

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString()}`;
  if (expiresAt === null) return 'good';
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'good until'} ${expiresAt.toISOString()}`;
}

function there<T>(id: string, found: T | null): T {
  if (found === null) throw new Error(`there is no key ${id}: see \`acta keys list\``);
  return found;
}

const withKeys = <T>(work: (apiKeys: ApiKeys) => Promise<T>): Promise<T> =>
  withStorage(({ database }) => work(new ApiKeys(database, new AuditLog(database))));
