import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Acta, type Replica } from '../../../../test/support/acta.js';
import { type ClaimLimits, WebhookOutbox } from './webhook-outbox.js';
import { CLAIM_WEBHOOKS } from './webhook-outbox.statements.js';

const FREE: ClaimLimits = {
  slots: 32,
  unprovenSlots: 24,
  provenOrigins: [],
  saturatedKeys: [],
  saturatedTenants: [],
  unprovenTenants: [],
  lastTenant: '',
};

let acta: Acta;
let replica: Replica;
let outbox: WebhookOutbox;
beforeEach(async () => {
  acta = await Acta.open();
  replica = await acta.replica({ concurrency: 0 });
  outbox = WebhookOutbox.over(replica);
});
afterEach(() => acta?.close());

/** Adds webhooks, `index` (from 1) with the due time `due` and the keys `origin` and `url`, which are SQL expressions of n. */
const addWebhooks = (tenant: string, count: number, due: string, origin = '0', url = 'n') =>
  acta.sql(
    `insert into push_config (tenant_id, task_id, subject, config_id, protocol_version, sealed_target, origin_key, url_key, next_attempt_at)
     select $1, gen_random_uuid(), 'alice', n::text, '1.0', '', decode(md5($1 || 'origin' || ${origin}), 'hex'),
       decode(md5($1 || 'url' || ${url}), 'hex'), ${due}
     from generate_series(1, $2::integer) n`,
    [tenant, count],
  );
const PAST = `clock_timestamp() - (1000 - n) * interval '1 second'`;

async function keyOf(tenant: string, kind: 'origin' | 'url', value: number): Promise<string> {
  const [row] = await acta.sql<{ key: string }>('select md5($1) as key', [`${tenant}${kind}${value}`]);
  return row!.key;
}

const claim = async (changes: Partial<ClaimLimits> = {}) =>
  (await outbox.claim({ ...FREE, ...changes }, 60_000))
    .map(({ tenantId, configId }) => `${tenantId} ${configId}`)
    .sort();

describe('A claim of webhooks', () => {
  it('contains the webhook of each tenant that is due for the longest time', async () => {
    for (const tenant of ['a', 'b', 'c']) await addWebhooks(tenant, 3, PAST);
    await addWebhooks('later', 1, `clock_timestamp() + interval '1 hour'`);
    await addWebhooks('idle', 1, 'null');
    expect(await claim()).toEqual(['a 1', 'b 1', 'c 1']);
    expect(await claim()).toEqual(['a 2', 'b 2', 'c 2']);
    expect(await claim()).toEqual(['a 3', 'b 3', 'c 3']);
    expect(await claim()).toEqual([]);
  });

  it('gives the slots to the tenants after the one that had the last turn', async () => {
    for (const tenant of ['a', 'b', 'c', 'd']) await addWebhooks(tenant, 3, PAST);
    expect(await claim({ slots: 2 })).toEqual(['a 1', 'b 1']);
    expect(await claim({ slots: 2, lastTenant: 'b' })).toEqual(['c 1', 'd 1']);
    expect(await claim({ slots: 3, lastTenant: 'd' })).toEqual(['a 2', 'b 2', 'c 2']);
    expect(await claim({ slots: 2, lastTenant: 'c' })).toEqual(['a 3', 'd 2']);
  });

  it('omits saturated origins, URLs and tenants', async () => {
    await addWebhooks('a', 6, PAST, 'n % 2', 'n % 3');
    await addWebhooks('b', 1, PAST);
    const [origin, url] = [await keyOf('a', 'origin', 1), await keyOf('a', 'url', 2)];
    expect(await claim({ saturatedKeys: [origin, url] })).toEqual(['a 4', 'b 1']);
    expect(await claim({ saturatedKeys: [origin, url] })).toEqual(['a 6']);
    expect(await claim({ saturatedKeys: [origin, url] })).toEqual([]);
    expect(await claim({ saturatedTenants: ['a'] })).toEqual([]);
    expect(await claim()).toEqual(['a 1']);
  });

  it('contains only proven origins of tenants that get no slot for others, and as many others as have a slot', async () => {
    for (const tenant of ['a', 'b', 'c', 'd']) await addWebhooks(tenant, 3, PAST, 'n');
    const provenOrigins = [await keyOf('a', 'origin', 3), await keyOf('b', 'origin', 2)];
    const limits = { provenOrigins, unprovenTenants: ['a', 'd'], unprovenSlots: 1 };
    expect(await claim(limits)).toEqual(['a 3', 'b 1']);
    expect(await claim({ ...limits, unprovenSlots: 0 })).toEqual(['b 2']);
    expect(await claim({ ...limits, unprovenSlots: 0 })).toEqual([]);
  });

  it('contains no webhook twice when several senders claim at the same time', async () => {
    for (const tenant of ['a', 'b', 'c', 'd']) await addWebhooks(tenant, 5, PAST);
    const claimed: string[] = [];
    for (let round = 0; claimed.length < 20; round += 1) {
      claimed.push(...(await Promise.all(Array.from({ length: 4 }, () => claim()))).flat());
    }
    expect(new Set(claimed).size).toBe(20);
  });

  it('is planned along the index of due webhooks, on tables without statistics', async () => {
    await addWebhooks('a', 20_000, 'null');
    await addWebhooks('b', 2_000, PAST);
    const values = [[], [], [], [], 32, 24, '', '00000000-0000-4000-8000-000000000000', 1_000];
    const plan = await replica.database.pool.query<{ 'QUERY PLAN': string }>(`explain ${CLAIM_WEBHOOKS.text}`, values);
    const lines = plan.rows.map((row) => row['QUERY PLAN']);
    const scans = lines.filter((line) => /Scan.* on push_config c?/.test(line));
    expect(scans.filter((line) => !/using push_config_(?:due|pkey)/.test(line))).toEqual([]);
    // To the first tenant, to the next one, and to the due webhooks of each.
    expect(lines.filter((line) => line.includes('push_config_due'))).toHaveLength(3);
  });
});
