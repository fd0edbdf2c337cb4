import { isIP, isIPv4 } from 'node:net';

/** Returns whether only this machine can connect to a server that listens on this host. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost' || name === '::1') return true;
  const address = name.replace(/^::ffff:/, '');
  return isIPv4(address) && address.startsWith('127.');
}

/** Returns an address or a host name as `listen()` takes it, or null if `value` is neither. */
export function parseHost(value: string): string | null {
  const host = value.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host)) {
    return null;
  }
  return host;
}

// Names of networks that Fastify accepts.
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];
export const MAX_PROXIES = 10;

/**
 * Returns the proxies to trust, or null if `value` is invalid. `true` means one proxy. With any number of proxies, a client could
 * write an address into X-Forwarded-For and avoid every limit by address.
 */
export function parseTrustProxy(value: string | null): false | number | string[] | null {
  if (value === null || value === 'false' || value === '0') return false;
  if (value === 'true') return 1;
  if (/^\d+$/.test(value) && Number(value) <= MAX_PROXIES) return Number(value);
  const networks = value.split(',').map((entry) => entry.trim());
  return networks.every(isNetwork) ? networks : null;
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (bits === undefined) return version !== 0 || NETWORKS.includes(text);
  return version !== 0 && rest.length === 0 && /^\d+$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}
