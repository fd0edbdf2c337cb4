import { isIP } from 'node:net';
import { DomainError, invalidField } from '@app/domain';
import type { WebhookTarget } from '@app/storage';
import { specialAddress } from './address-rules.js';

/** Whether webhooks are told of tasks, and where they may be. */
export class PushPolicy {
  constructor(
    private readonly offered: boolean,
    /** http, and addresses that are not public. */
    readonly allowPrivate: boolean,
  ) {}

  /** Errors: PushNotificationNotSupported. */
  requireOffered(): void {
    if (this.offered) return;
    throw new DomainError('PushNotificationNotSupported', 'this agent does not send push notifications', {});
  }

  /**
   * Refuses a target that could never be told. Where its name leads is seen when it is told, each time.
   * Errors: InvalidParameters.
   */
  check({ url, token, authentication }: WebhookTarget): void {
    const problem = this.urlProblem(url);
    if (problem !== null) throw invalidField('url', problem);
    const headers = [
      ['token', token],
      ['authentication.scheme', authentication?.scheme],
      ['authentication.credentials', authentication?.credentials],
    ] as const;
    for (const [field, value] of headers) {
      if (value !== undefined && !/^[\x20-\x7e]*$/.test(value)) {
        throw invalidField(field, 'must be printable ASCII, because it is sent as a header');
      }
    }
  }

  /** Why this URL may not be told, as far as the URL itself shows it; null when it may. */
  urlProblem(url: string): string | null {
    const { protocol, username, password, hostname } = new URL(url);
    if (protocol !== 'https:' && !(this.allowPrivate && protocol === 'http:')) return 'must be an https URL';
    if (`${username}${password}` !== '') return 'must not contain credentials; use the authentication field';
    const host = hostOf(hostname);
    if (isIP(host) !== 0) return this.addressProblem(host);
    if (!this.allowPrivate && /(^|\.)localhost\.?$/.test(host)) return 'is a loopback address, which is not allowed';
    return null;
  }

  /** Why no connection is made to this address; null when it may be. */
  addressProblem(address: string): string | null {
    const special = this.allowPrivate ? null : specialAddress(address);
    return special === null ? null : `is ${special} address (${address}), which is not allowed`;
  }
}

/** A URL's host as names and addresses are looked up: IPv6 without its brackets. */
export const hostOf = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
