import { describe, expect, it } from '@jest/globals';
import type { WebhookClaim } from '../outbox/webhook-outbox.js';
import { SenderSlots, type Slot } from './sender-slots.js';

/** A claim of a webhook with its own origin and URL, unless the key of the origin is given. */
let claims = 0;
const claimOf = (tenantId: string, originKey = `origin ${(claims += 1)}`): WebhookClaim => ({
  tenantId,
  taskId: 'task',
  subject: 'alice',
  configId: 'config',
  protocolVersion: '1.0',
  target: 'erased',
  originKey,
  urlKey: `url ${(claims += 1)}`,
  lease: 'lease',
  next: null,
});

/** Occupies slots for a tenant until it gets no further one, at most `limit`, and returns them. */
function occupyAll(slots: SenderSlots, tenant: string, originKey?: () => string, limit = Infinity): Slot[] {
  const occupied: Slot[] = [];
  while (occupied.length < limit) {
    const { slots: free, unprovenSlots, saturatedTenants, unprovenTenants, provenOrigins } = slots.limits();
    const claim = claimOf(tenant, originKey?.());
    const isProven = provenOrigins.includes(claim.originKey);
    const isLimited = !isProven && (unprovenSlots === 0 || unprovenTenants.includes(tenant));
    if (free === 0 || saturatedTenants.includes(tenant) || isLimited) return occupied;
    occupied.push(slots.occupy(claim));
  }
  return occupied;
}

/** Makes an origin proven, with the highest limit. */
function prove(slots: SenderSlots, originKey: string): void {
  const slot = slots.occupy(claimOf('prover', originKey));
  for (let n = 0; n < 10; n += 1) slot.report(true);
  slot.release();
}

describe('SenderSlots', () => {
  it('give a tenant alone half of the slots, and half of the share for unproven origins', () => {
    const slots = new SenderSlots(32);
    prove(slots, 'good');
    expect(occupyAll(slots, 'a')).toHaveLength(12);
    occupyAll(slots, 'a', () => 'good');
    expect(slots.free).toBe(16);
  });

  it.each([1, 2, 4])(
    'leave a slot for a further tenant after %i tenants have occupied all that they get',
    (tenants) => {
      const slots = new SenderSlots(32);
      for (let n = 0; n < tenants; n += 1) occupyAll(slots, `tenant ${n}`);
      expect(occupyAll(slots, 'further').length).toBeGreaterThan(0);
    },
  );

  it.each([2, 5, 10, 23])('leave a slot for a further tenant when %i tenants compete in turns', (tenants) => {
    const slots = new SenderSlots(32);
    for (let round = 0; round < 32; round += 1) {
      for (let n = 0; n < tenants; n += 1) occupyAll(slots, `tenant ${n}`, undefined, 1);
    }
    expect(occupyAll(slots, 'further').length).toBeGreaterThan(0);
  });

  it('give the slot that is released next to a tenant that has none', () => {
    const slots = new SenderSlots(32);
    const [first] = occupyAll(slots, 'tenant 0');
    for (let n = 1; n < 32; n += 1) occupyAll(slots, `tenant ${n}`);
    expect(slots.limits().unprovenSlots).toBe(0);
    first!.release();
    expect(occupyAll(slots, 'tenant 0')).toEqual([]);
    expect(occupyAll(slots, 'waiting')).toHaveLength(1);
  });

  it('leave slots free for proven origins while 100 tenants have unproven ones', () => {
    const slots = new SenderSlots(32);
    prove(slots, 'good');
    for (let n = 0; n < 100; n += 1) occupyAll(slots, `tenant ${n}`);
    expect(slots.limits().unprovenSlots).toBe(0);
    expect(slots.free).toBe(8);
    expect(occupyAll(slots, 'further', () => 'good').length).toBeGreaterThan(0);
  });

  it('return to their limits when they are released', () => {
    const slots = new SenderSlots(8);
    const before = slots.limits();
    for (const slot of occupyAll(slots, 'a')) {
      slot.report(false);
      slot.release();
    }
    expect(slots.limits()).toEqual(before);
  });

  it('count an origin that has failed after a success as unproven', () => {
    const slots = new SenderSlots(32);
    prove(slots, 'flaky');
    expect(slots.limits().provenOrigins).toEqual(['flaky']);
    slots.occupy(claimOf('a', 'flaky')).report(false);
    expect(slots.limits().provenOrigins).toEqual([]);
  });

  it('limit an origin without a success to two slots, and a URL to one', () => {
    const slots = new SenderSlots(32);
    const first = claimOf('a', 'origin');
    slots.occupy(first);
    expect(slots.limits().saturatedKeys).toEqual([first.urlKey]);
    const second = claimOf('a', 'origin');
    slots.occupy(second);
    expect(slots.limits().saturatedKeys).toEqual(['origin', first.urlKey, second.urlKey]);
  });

  it('let a sender with one slot use it', () => {
    const slots = new SenderSlots(1);
    expect(occupyAll(slots, 'a')).toHaveLength(1);
    expect(slots.free).toBe(0);
  });

  it('end the turn of the last tenant in the order of turns', () => {
    const slots = new SenderSlots(8);
    const turnAfter = (...tenants: string[]) => {
      slots.endTurn(tenants.map((tenant) => claimOf(tenant)));
      return slots.limits().lastTenant;
    };
    expect(turnAfter('a', 'c', 'b')).toBe('c');
    expect(turnAfter('a', 'd', 'b')).toBe('b');
    expect(turnAfter()).toBe('b');
    expect(turnAfter('d', 'c')).toBe('d');
  });
});
