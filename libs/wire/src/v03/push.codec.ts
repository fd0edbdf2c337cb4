import type { Json, JsonObject } from '@app/domain';
import type { Violations } from '../validation/object-reader.js';
import { readParams } from '../validation/params.js';
import type { PushConfig } from '../requests.js';
import { AuthenticationScheme, PushNotificationAuthentication, PushNotificationConfig } from './params.js';

/** Reads a `PushNotificationConfig` (A2A v0.3 section 6.8) at `path`. */
export function decodePushConfig(source: Json, violations: Violations, path: string): PushConfig {
  const options = { fieldCase: 'camel', path } as const;
  const { authentication, ...config } = readParams(PushNotificationConfig, source, violations, options);
  if (authentication === undefined) return { ...config };
  const read = decodeAuthentication(authentication, violations, `${path}.authentication`);
  return { ...config, ...(read === undefined ? {} : { authentication: read }) };
}

/**
 * Reads the authentication. v0.3 has a list of schemes but one credential, so only a list of one scheme is unambiguous. No scheme and
 * no credential mean no authentication: the Go SDK sends an empty object.
 */
function decodeAuthentication(source: JsonObject, violations: Violations, path: string): PushConfig['authentication'] {
  const options = { fieldCase: 'camel', path } as const;
  const { schemes = [], credentials } = readParams(PushNotificationAuthentication, source, violations, options);
  if (Array.isArray(schemes) && schemes.length === 0 && credentials === undefined) return undefined;
  if (Array.isArray(schemes) && schemes.length !== 1)
    violations.add(`${path}.schemes`, `must name exactly one scheme, not ${schemes.length}`);
  const scheme = Array.isArray(schemes) ? (schemes[0] ?? '') : '';
  const first = { fieldCase: 'camel', path: `${path}.schemes[0]` } as const;
  const read = schemes?.length === 1 ? readParams(AuthenticationScheme, { scheme }, violations, first) : { scheme: '' };
  return { scheme: read.scheme, ...(credentials === undefined ? {} : { credentials }) };
}

/** Encodes a `TaskPushNotificationConfig` without its credentials, which clients can set but not read. */
export function encodePushConfig({ taskId, id, url, token, authentication }: PushConfig): JsonObject {
  return {
    taskId: taskId ?? '',
    pushNotificationConfig: {
      ...(id === undefined ? {} : { id }),
      url,
      ...(token === undefined ? {} : { token }),
      ...(authentication === undefined ? {} : { authentication: { schemes: [authentication.scheme] } }),
    },
  };
}
