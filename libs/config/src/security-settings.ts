import { createSecureContext } from 'node:tls';
import { isLoopback } from '@app/network';
import type { Config, OidcConfig } from './config.js';
import { ConfigError } from './config-error.js';
import type { EnvironmentReader } from './environment-reader.js';

const SECRET_LENGTH = 32;
const TOKEN_LENGTH = 32;

export function readSecretKey(read: EnvironmentReader): string | null {
  const value = read.optional('ACTA_SECRET_KEY');
  if (value !== null && read.optional('ACTA_SECRET_KEY_FILE') !== null) {
    throw new ConfigError('ACTA_SECRET_KEY and ACTA_SECRET_KEY_FILE are both set: remove one of them.');
  }
  const name = value === null ? 'ACTA_SECRET_KEY_FILE' : 'ACTA_SECRET_KEY';
  const secret = value ?? read.file(name)?.trim() ?? null;
  if (secret !== null && secret.length < SECRET_LENGTH) {
    throw new ConfigError(
      `${name} contains fewer than ${SECRET_LENGTH} characters: create a secret with \`openssl rand -base64 32\`.`,
    );
  }
  return secret;
}

export function readToken(read: EnvironmentReader): string | null {
  const value = read.optional('ACTA_TOKEN');
  // The syntax of a bearer token (RFC 6750 section 2.1). No Authorization header can contain a different token.
  if (value !== null && !/^[\w.~+/-]+=*$/.test(value)) {
    throw new ConfigError(
      'ACTA_TOKEN is not a valid bearer token: use letters, digits and -._~+/ only, such as the output of `openssl rand -hex 32`.',
    );
  }
  if (value !== null && value.length < TOKEN_LENGTH) {
    throw new ConfigError(
      `ACTA_TOKEN has ${value.length} ${value.length === 1 ? 'character' : 'characters'}, fewer than ${TOKEN_LENGTH}: create a token with \`openssl rand -hex 32\`.`,
    );
  }
  return value;
}

export function readTls(read: EnvironmentReader): Config['tls'] {
  const [cert, key] = [read.file('ACTA_TLS_CERT'), read.file('ACTA_TLS_KEY')];
  if (cert === null && key === null) return null;
  if (cert === null || key === null) {
    const [missing, present] = cert === null ? ['ACTA_TLS_CERT', 'ACTA_TLS_KEY'] : ['ACTA_TLS_KEY', 'ACTA_TLS_CERT'];
    throw new ConfigError(`${missing} is missing, but ${present} is set: set both or neither.`);
  }
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new ConfigError(
      'ACTA_TLS_CERT and ACTA_TLS_KEY are not a certificate and its key: use two matching PEM files, and a key without a passphrase.',
    );
  }
  return Object.freeze({ cert, key });
}

export function readOidc(read: EnvironmentReader): OidcConfig | null {
  const names = ['ACTA_OIDC_ISSUER', 'ACTA_OIDC_AUDIENCE', 'ACTA_OIDC_JWKS_URL'] as const;
  const claims = Object.freeze({
    subject: read.text('ACTA_OIDC_SUBJECT_CLAIM', 'sub'),
    tenant: read.text('ACTA_OIDC_TENANT_CLAIM', 'tenant'),
    rings: read.text('ACTA_OIDC_RINGS_CLAIM', 'rings'),
    admin: read.text('ACTA_OIDC_ADMIN_CLAIM', 'admin'),
  });
  const [issuer, audience] = [read.optional(names[0]), read.optional(names[1])];
  const jwksUrl = read.url(names[2], ['http:', 'https:'], 'use the https URL of the JSON Web Key Set');
  if (issuer === null && audience === null && jwksUrl === null) return null;
  if (issuer === null || audience === null || jwksUrl === null) {
    const missing = names.find((name) => read.optional(name) === null)!;
    throw new ConfigError(`${missing} is missing: set ${names[0]}, ${names[1]} and ${names[2]} together.`);
  }
  // An attacker who can change these keys in transit can sign tokens of any subject.
  if (jwksUrl.protocol === 'http:' && !isLoopback(jwksUrl.hostname)) {
    throw new ConfigError(`${names[2]} is not encrypted: use https; http is allowed for a loopback address only.`);
  }
  return Object.freeze({ issuer, audience, jwksUrl: jwksUrl.href, claims });
}
