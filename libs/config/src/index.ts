export { type Config, LOG_LEVELS, type LogLevel, type OidcConfig } from './config.js';
export { ConfigError } from './config-error.js';
export { readConfig } from './read-config.js';
