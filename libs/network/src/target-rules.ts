import { isIP } from 'node:net';
import { specialAddress } from './address-rules.js';

/** Where connections may go that someone else names: webhooks, other agents. */
export class TargetRules {
  constructor(
    /** http, and addresses that are not public. */
    readonly allowPrivate: boolean,
  ) {}

  /** Why no request is sent to this URL, as far as the URL itself shows it; null when one may be. */
  urlProblem(url: string): string | null {
    const { protocol, username, password, hostname } = new URL(url);
    if (protocol !== 'https:' && !(this.allowPrivate && protocol === 'http:')) return 'must be an https URL';
    if (`${username}${password}` !== '') return 'must not contain credentials; give them apart from it';
    const host = hostWithoutBrackets(hostname);
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
export const hostWithoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
