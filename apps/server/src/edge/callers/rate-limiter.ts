import { TokenBuckets } from '@app/access';
import { DomainError, type Principal } from '@app/domain';

/** Number of callers whose rate is kept in memory. */
const MAX_CALLERS = 10_000;

/**
 * Returns a function that counts one request of a caller and throws RateLimited above `perSecond` requests per second, in
 * bursts of twice as many. 0 means no limit.
 */
export function rateLimiter(perSecond: number): (principal: Principal) => void {
  if (perSecond === 0) return () => undefined;
  const buckets = new TokenBuckets({ capacity: 2 * perSecond, refillPerSecond: perSecond, maxBuckets: MAX_CALLERS });
  return ({ tenantId, subject }) => {
    const caller = JSON.stringify([tenantId, subject]);
    const retryAfterSeconds = buckets.secondsUntilToken(caller);
    if (retryAfterSeconds > 0) {
      throw new DomainError('RateLimited', `the caller sent more than ${perSecond} requests per second; slow down`, {
        retryAfterSeconds,
      });
    }
    buckets.take(caller);
  };
}
