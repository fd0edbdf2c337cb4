import type { Json, JsonObject } from '@app/domain';
import { Violations } from '../validation/object-reader.js';
import { readParams } from '../validation/params.js';
import type { PushConfig, PushConfigPage } from '../requests.js';
import { AuthenticationParams, PushConfigParams } from './params.js';

/** Reads a `TaskPushNotificationConfig` (A2A v1.0 section 4.3.1) at `path`, with the tenant that it can name. */
export function decodePushConfig(source: Json, violations: Violations, path: string): PushConfig & { tenant?: string } {
  const { authentication, ...config } = readParams(PushConfigParams, source, violations, {
    fieldCase: 'camel-or-snake',
    path,
  });
  if (authentication === undefined) return { ...config };
  const authPath = path === '' ? 'authentication' : `${path}.authentication`;
  const read = readParams(AuthenticationParams, authentication, violations, {
    fieldCase: 'camel-or-snake',
    path: authPath,
  });
  return { ...config, authentication: { ...read } };
}

/** Encodes a configuration without its credentials, which clients can set but not read. */
export function encodePushConfig({ authentication, ...config }: PushConfig): JsonObject {
  return { ...config, ...(authentication === undefined ? {} : { authentication: { scheme: authentication.scheme } }) };
}

export const encodePushConfigPage = ({ configs, nextPageToken }: PushConfigPage): JsonObject => ({
  configs: configs.map(encodePushConfig),
  nextPageToken,
});
