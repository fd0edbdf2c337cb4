export type { Config, LogLevel, OidcConfig } from './config.js';
export { ConfigError } from './config-error.js';
export { readConfig } from './read-config.js';
