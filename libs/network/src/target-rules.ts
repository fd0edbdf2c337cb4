import { isIP } from 'node:net';
import { specialAddress } from './address-rules.js';

/** The rules for URLs that other users choose: webhooks and upstream agents. */
export class TargetRules {
  constructor(
    /** Allows http, and addresses that are not public. */
    readonly allowPrivate: boolean,
  ) {}

  /** Returns why requests to a URL are not allowed, as far as the URL itself shows it, or null. The subject is the URL. */
  urlProblem(url: string): string | null {
    const { protocol, username, password, hostname } = new URL(url);
    if (protocol !== 'https:' && !(this.allowPrivate && protocol === 'http:')) return 'must be an https URL';
    if (`${username}${password}` !== '') return 'must not contain credentials; pass them separately';
    const host = hostWithoutBrackets(hostname);
    if (isIP(host) !== 0) return this.addressProblem(host);
    if (!this.allowPrivate && /(^|\.)localhost\.?$/.test(host)) return 'is a loopback address, which is not allowed';
    return null;
  }

  /** Returns why connections to an address are not allowed, or null. The subject is the address. */
  addressProblem(address: string): string | null {
    const special = this.allowPrivate ? null : specialAddress(address);
    return special === null ? null : `is ${special} address (${address}), which is not allowed`;
  }
}

/** Returns the host of a URL as lookups expect it: an IPv6 address without brackets. */
export const hostWithoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
