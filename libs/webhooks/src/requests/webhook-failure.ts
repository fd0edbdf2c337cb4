import type { IncomingHttpHeaders } from 'node:http';
import { retryAfterMs } from './retry-after.js';

/**
 * What follows from a failed request:
 * - `temporary`: the same request may succeed later.
 * - `rejected`: the target does not accept this request, now or later. It may accept the next one.
 * - `retired`: the target no longer exists and accepts no request.
 */
export type WebhookFailureKind = 'temporary' | 'rejected' | 'retired';

/** Why a request failed. The message contains neither the URL nor the body of the response. */
export class WebhookFailure extends Error {
  constructor(
    readonly kind: WebhookFailureKind,
    message: string,
    /** The status of the response; null if there was none. */
    readonly status: number | null = null,
    /** The wait that the target requested, in milliseconds; null if it requested none. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** The target says that it no longer exists (RFC 9110, section 15.5.11). */
const TARGET_REMOVED = 410;
/** Redirects that are not followed and will not disappear (RFC 9110, sections 15.4.2 and 15.4.9). */
const PERMANENT_REDIRECTS: readonly number[] = [301, 308];
/**
 * Statuses from 400 to 499 with which the same request may succeed later. Every other one rejects the request itself: the same
 * bytes get the same response, and a repetition would only delay the deliveries behind them.
 */
const TEMPORARY_REJECTIONS: readonly number[] = [
  // Request Timeout: the client may repeat the request (RFC 9110, section 15.5.9).
  408,
  // Conflict: with the current state of the target, which changes (RFC 9110, section 15.5.10).
  409,
  // Misdirected Request: a different connection may be accepted, and each attempt opens one (RFC 9110, section 15.5.20).
  421,
  // Locked, and Failed Dependency: until a different request has ended (RFC 4918, sections 11.3 and 11.4).
  423, 424,
  // Too Early (RFC 8470, section 5.2).
  425,
  // Too Many Requests (RFC 6585, section 4).
  429,
];

/**
 * Returns the failure that a response means, or null for a status from 200 to 299. A valid `Retry-After` makes every status but
 * 410 temporary, because with it a target says that it will accept the request later (RFC 9110, section 15.5.14, for 413).
 * `now` is in milliseconds since 1970.
 */
export function failureOfResponse(
  { status, headers }: { readonly status: number; readonly headers: IncomingHttpHeaders },
  now: number,
  message = `the target responded with status ${status}`,
): WebhookFailure | null {
  if (status >= 200 && status < 300) return null;
  if (status === TARGET_REMOVED) return new WebhookFailure('retired', message, status);
  const wait = retryAfterMs(headers, now);
  const isRejection = isPermanent(status) && wait === null;
  return new WebhookFailure(isRejection ? 'rejected' : 'temporary', message, status, wait);
}

const isPermanent = (status: number): boolean =>
  PERMANENT_REDIRECTS.includes(status) || (status >= 400 && status < 500 && !TEMPORARY_REJECTIONS.includes(status));
