export { type Config, LOG_LEVELS, type LogLevel, type OidcConfig, readConfig } from './config.js';
export { ConfigError } from './config-error.js';
