import { MAX_PROXIES, parseHost, parseTrustProxy } from '@app/network';
import { CAPABILITIES, type Capability, type Config } from './config.js';
import { ConfigError } from './config-error.js';
import { alternatives, type EnvironmentReader, invalidValue } from './environment-reader.js';

export function readHost(read: EnvironmentReader): string {
  const value = read.text('HOST', '127.0.0.1');
  const host = parseHost(value);
  if (host === null) throw invalidValue('HOST', value, 'use an address such as 127.0.0.1, without a scheme and a port');
  return host;
}

export function readTrustProxy(read: EnvironmentReader): Config['trustProxy'] {
  const value = read.optional('ACTA_TRUST_PROXY');
  const proxies = parseTrustProxy(value);
  if (proxies !== null) return proxies;
  throw invalidValue(
    'ACTA_TRUST_PROXY',
    value!,
    `use true, the number of proxies (at most ${MAX_PROXIES}), or their addresses and networks, separated by commas`,
  );
}

export function readPublicUrl(read: EnvironmentReader): string | null {
  const advice = 'use http(s)://host with an optional port and path, without credentials, query or fragment';
  const url = read.url('ACTA_PUBLIC_URL', ['http:', 'https:'], advice);
  if (url === null) return null;
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw new ConfigError(`ACTA_PUBLIC_URL is not a base URL: ${advice}.`);
  }
  return url.href.replace(/\/+$/, '');
}

export function readDatabaseUrl(
  read: EnvironmentReader,
  name: 'DATABASE_URL' | 'ACTA_OWNER_DATABASE_URL',
): string | null {
  const url = read.url(name, ['postgres:', 'postgresql:'], 'use postgresql://user:password@host:port/database');
  return url === null ? null : read.optional(name);
}

export function readAgents(read: EnvironmentReader): readonly string[] {
  const listed = read.list('ACTA_AGENTS');
  return Object.freeze(listed.length === 0 ? ['demo'] : listed);
}

/** Numbers, because a name would need a look-up that Node does not have. */
export function readAgentUser(read: EnvironmentReader): Pick<Config, 'agentUid' | 'agentGid'> {
  const id = (name: string) => (read.optional(name) === null ? null : read.integer(name, 0, [0, 4_294_967_294]));
  const [agentUid, agentGid] = [id('ACTA_AGENT_UID'), id('ACTA_AGENT_GID')];
  if (agentUid !== null && agentGid === null) {
    throw new ConfigError('ACTA_AGENT_UID is set without ACTA_AGENT_GID: set both, or neither.');
  }
  return { agentUid, agentGid };
}

export function readCapabilities(read: EnvironmentReader): ReadonlySet<Capability> {
  // An empty value is valid: the cards then advertise no capability.
  if (!read.isPresent('ACTA_CAPABILITIES')) return new Set(CAPABILITIES);
  return new Set(
    read.list('ACTA_CAPABILITIES').map((name) => {
      const capability = CAPABILITIES.find((known) => known === name);
      if (capability === undefined) {
        throw invalidValue('ACTA_CAPABILITIES', name, `use any of ${alternatives(CAPABILITIES)}, separated by commas`);
      }
      return capability;
    }),
  );
}
