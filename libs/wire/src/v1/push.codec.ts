import type { Json, JsonObject } from '@app/domain';
import { Violations } from '../validation/object-reader.js';
import { readParams } from '../validation/params.js';
import type { PushConfig, PushConfigPage } from '../requests.js';
import { AuthenticationParams, PushConfigParams } from './params.js';

/** A `TaskPushNotificationConfig` (A2A v1.0 section 4.3.1) below `path`, with the tenant that it may name. */
export function decodePushConfig(source: Json, violations: Violations, path: string): PushConfig & { tenant?: string } {
  const { authentication, ...config } = readParams(PushConfigParams, source, violations, { spelling: 'either', path });
  if (authentication === undefined) return { ...config };
  const at = path === '' ? 'authentication' : `${path}.authentication`;
  const read = readParams(AuthenticationParams, authentication, violations, { spelling: 'either', path: at });
  return { ...config, authentication: { ...read } };
}

/** Credentials go in and never come out. */
export function encodePushConfig({ authentication, ...config }: PushConfig): JsonObject {
  return { ...config, ...(authentication === undefined ? {} : { authentication: { scheme: authentication.scheme } }) };
}

export const encodePushConfigPage = ({ configs, nextPageToken }: PushConfigPage): JsonObject => ({
  configs: configs.map(encodePushConfig),
  nextPageToken,
});
