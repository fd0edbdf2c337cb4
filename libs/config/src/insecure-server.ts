import { isLoopback } from '@app/network';
import type { Config } from './config.js';
import { ConfigError } from './config-error.js';

/** Throws ConfigError for a server that a network can reach without credentials or encryption. */
export function rejectInsecureServer({ host, auth, demoFaults, tls, trustProxy }: Config): void {
  if (auth === 'none' && trustProxy !== false) {
    throw new ConfigError(
      'ACTA_AUTH=none is not allowed with ACTA_TRUST_PROXY, because every request from the proxy would be an admin: remove one of the two.',
    );
  }
  if (isLoopback(host)) return;
  const condition = `while HOST is ${JSON.stringify(host)}`;
  if (auth === 'none') {
    throw new ConfigError(
      `ACTA_AUTH=none is not allowed ${condition}: set HOST to a loopback address such as 127.0.0.1, or remove ACTA_AUTH.`,
    );
  }
  if (demoFaults) {
    throw new ConfigError(
      `ACTA_DEMO_FAULTS is not allowed ${condition}: set HOST to a loopback address such as 127.0.0.1, or remove ACTA_DEMO_FAULTS.`,
    );
  }
  if (tls === null && trustProxy === false) {
    throw new ConfigError(
      `HOST is ${JSON.stringify(host)}, which is open to a network without encryption: set ACTA_TLS_CERT and ACTA_TLS_KEY, or ACTA_TRUST_PROXY behind a proxy that terminates TLS.`,
    );
  }
}
