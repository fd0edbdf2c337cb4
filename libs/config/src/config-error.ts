/**
 * The environment asks for something that Acta cannot do. The message is one sentence for the person who started it: the
 * variable, what is wrong, how to mend it; never a secret's value.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
