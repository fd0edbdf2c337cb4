import type { ClaimLimits, WebhookClaim } from '../outbox/webhook-outbox.js';
import { AdaptiveConcurrency } from './adaptive-concurrency.js';

/** The slot of one claimed webhook. */
export interface Slot {
  /** Records whether the target has accepted a delivery. A rejected delivery is neither. */
  report(accepted: boolean): void;
  release(): void;
}

interface Usage {
  total: number;
  unproven: number;
}

/** The share of the slots that can be used for unproven origins. */
const UNPROVEN_SHARE = 3 / 4;
/** Concurrent webhooks of an origin, and of a URL, that are not proven. */
const UNPROVEN_ORIGIN_LIMIT = 2;
const UNPROVEN_URL_LIMIT = 1;

/**
 * Shares the slots of a sender between tenants. An origin is proven while its last delivery has succeeded; keys of origins and
 * URLs differ between tenants, so no tenant affects the limits of others.
 *
 * A tenant gets a further slot only while it occupies fewer slots than are free. So one tenant alone can use half of the slots,
 * and the last free slot goes to a tenant that has none. The same rule applies to the share of the slots that can be used for
 * unproven origins, and the remaining slots are for proven ones.
 */
export class SenderSlots {
  private readonly origins: AdaptiveConcurrency;
  private readonly urls: AdaptiveConcurrency;
  private readonly tenants = new Map<string, Usage>();
  private readonly unprovenSize: number;
  private readonly used: Usage = { total: 0, unproven: 0 };
  private lastTenant = '';

  constructor(private readonly size: number) {
    this.unprovenSize = Math.max(1, Math.floor(size * UNPROVEN_SHARE));
    const max = Math.max(1, size / 2);
    this.origins = new AdaptiveConcurrency(Math.min(UNPROVEN_ORIGIN_LIMIT, max), max);
    this.urls = new AdaptiveConcurrency(UNPROVEN_URL_LIMIT, max);
  }

  get free(): number {
    return this.size - this.used.total;
  }

  /** Returns what the next claim may contain. A claim has at most one webhook of each tenant, so that the shares apply to it. */
  limits(): ClaimLimits {
    const { free } = this;
    const unprovenFree = Math.max(0, this.unprovenSize - this.used.unproven);
    const tenantsWhere = (isSaturated: (usage: Usage) => boolean) =>
      [...this.tenants].filter(([, usage]) => isSaturated(usage)).map(([tenant]) => tenant);
    return {
      slots: free,
      unprovenSlots: unprovenFree,
      provenOrigins: this.origins.proven(),
      saturatedKeys: [...this.origins.saturated(), ...this.urls.saturated()],
      saturatedTenants: tenantsWhere(({ total }) => total >= free),
      unprovenTenants: tenantsWhere(({ unproven }) => unproven >= unprovenFree),
      lastTenant: this.lastTenant,
    };
  }

  /** Ends the turn of the tenants of one claim. */
  endTurn(claims: readonly WebhookClaim[]): void {
    const after = (tenant: string) => tenant > this.lastTenant;
    const order = claims.map(({ tenantId }) => tenantId).sort((a, b) => compare(after(b), after(a)) || compare(a, b));
    this.lastTenant = order.at(-1) ?? this.lastTenant;
  }

  occupy({ tenantId, originKey, urlKey }: WebhookClaim): Slot {
    const change = { total: 1, unproven: this.origins.isProven(originKey) ? 0 : 1 };
    this.count(tenantId, change);
    this.origins.acquire(originKey);
    this.urls.acquire(urlKey);
    return {
      report: (accepted) => {
        this.origins.report(originKey, accepted);
        this.urls.report(urlKey, accepted);
      },
      release: () => {
        this.origins.release(originKey);
        this.urls.release(urlKey);
        this.count(tenantId, { total: -1, unproven: -change.unproven });
      },
    };
  }

  private count(tenantId: string, { total, unproven }: Usage): void {
    const usage = this.tenants.get(tenantId) ?? { total: 0, unproven: 0 };
    for (const each of [usage, this.used]) {
      each.total += total;
      each.unproven += unproven;
    }
    if (usage.total === 0) this.tenants.delete(tenantId);
    else this.tenants.set(tenantId, usage);
  }
}

const compare = <T extends string | boolean>(a: T, b: T): number => Number(a > b) - Number(a < b);
