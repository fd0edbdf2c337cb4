/**
 * The environment contains an invalid setting. The message is one sentence that names the variable, what is wrong and what to
 * do. It never contains the value of a secret.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
