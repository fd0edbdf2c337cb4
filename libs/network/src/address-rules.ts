import { BlockList, isIP } from 'node:net';

type Family = 'ipv4' | 'ipv6';

/** What lies beyond the public internet, by the IANA registries of special-purpose addresses (RFC 6890). */
const SPECIAL: readonly [what: string, family: Family, ...networks: string[]][] = [
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

const listOf = (family: Family, networks: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = network.split('/');
    list.addSubnet(address!, Number(prefix), family);
  }
  return list;
};

const RULES = SPECIAL.map(([what, family, ...networks]) => ({ what, family, list: listOf(family, networks) }));
/** Whatever of IPv6 is not handed out as global unicast is refused without being listed. */
const GLOBAL_UNICAST = listOf('ipv6', ['2000::/3']);

/** What kind of address this is if it is not a public one ("a loopback"); null for a public one. */
export function specialAddress(address: string): string | null {
  const version = isIP(address);
  // A zone (`fe80::1%eth0`) belongs to this host's own links.
  if (version === 0 || address.includes('%')) return 'an unusable';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // Node checks an IPv4-mapped address against IPv4 rules too: only rules of its own family say what it is.
  const rule = RULES.find((candidate) => candidate.family === family && candidate.list.check(address, family));
  if (rule !== undefined) return rule.what;
  return family === 'ipv6' && !GLOBAL_UNICAST.check(address, family) ? 'a reserved' : null;
}
