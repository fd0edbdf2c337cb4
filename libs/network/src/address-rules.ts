import { BlockList, isIP } from 'node:net';

type Family = 'ipv4' | 'ipv6';

/** Networks outside of the public internet, from the IANA registries of special-purpose addresses (RFC 6890). */
const SPECIAL: readonly [kind: string, family: Family, ...networks: string[]][] = [
  ['an unspecified', 'ipv4', '0.0.0.0/8'],
  ['a loopback', 'ipv4', '127.0.0.0/8'],
  ['a link-local', 'ipv4', '169.254.0.0/16'],
  ['a private', 'ipv4', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['a shared (carrier)', 'ipv4', '100.64.0.0/10'],
  ['a multicast', 'ipv4', '224.0.0.0/4'],
  ['a reserved', 'ipv4', '192.0.0.0/24', '192.88.99.0/24', '198.18.0.0/15', '240.0.0.0/4'],
  ['a documentation', 'ipv4', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  ['a loopback', 'ipv6', '::1/128'],
  ['an IPv4-mapped or translated', 'ipv6', '::ffff:0:0/96', '::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16'],
  ['a link-local', 'ipv6', 'fe80::/10'],
  ['a unique-local', 'ipv6', 'fc00::/7'],
  ['a multicast', 'ipv6', 'ff00::/8'],
  ['a documentation', 'ipv6', '2001:db8::/32', '3fff::/20'],
  // Tunnels (Teredo), benchmarking, identifiers.
  ['a reserved', 'ipv6', '2001::/23'],
];

const blockListOf = (family: Family, networks: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = network.split('/');
    list.addSubnet(address!, Number(prefix), family);
  }
  return list;
};

const RULES = SPECIAL.map(([kind, family, ...networks]) => ({ kind, family, list: blockListOf(family, networks) }));
/** All other IPv6 addresses are reserved. */
const GLOBAL_UNICAST = blockListOf('ipv6', ['2000::/3']);

/** Where an address is: on this machine, in a network that is not public, or in the internet. */
export type AddressClass = 'loopback' | 'private' | 'public';

/** Peers whose class is kept, because a check of an address costs more than the rest of what is read from a request's headers. */
const MAX_KNOWN_PEERS = 1_000;
const knownPeers = new Map<string, AddressClass>();

/** Returns the class of a peer's address. What is not an address, such as a name in `X-Forwarded-For`, counts as public. */
export function addressClassOf(peer: string): AddressClass {
  const known = knownPeers.get(peer);
  if (known !== undefined) return known;
  const addressClass = classify(peer);
  if (knownPeers.size >= MAX_KNOWN_PEERS) knownPeers.clear();
  knownPeers.set(peer, addressClass);
  return addressClass;
}

function classify(peer: string): AddressClass {
  // Node reports an IPv4 peer of a dual-stack socket in IPv6 form.
  const address = peer.replace(/^::ffff:(?=\d+\.)/i, '').split('%', 1)[0]!;
  if (isIP(address) === 0) return 'public';
  const kind = specialAddress(address);
  if (kind === null) return 'public';
  return kind === 'a loopback' ? 'loopback' : 'private';
}

/** Returns the kind of an address with its article ("a loopback"), or null if the address is public. */
export function specialAddress(address: string): string | null {
  const version = isIP(address);
  // An address with a zone (`fe80::1%eth0`) is link-local.
  if (version === 0 || address.includes('%')) return 'an unusable';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // Node also checks an IPv4-mapped address against IPv4 rules, so only the rules of its own family apply.
  const rule = RULES.find((candidate) => candidate.family === family && candidate.list.check(address, family));
  if (rule !== undefined) return rule.kind;
  return family === 'ipv6' && !GLOBAL_UNICAST.check(address, family) ? 'a reserved' : null;
}
