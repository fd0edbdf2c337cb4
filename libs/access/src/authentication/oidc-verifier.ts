import type { OidcConfig } from '@app/config';
import { DomainError, type Principal } from '@app/domain';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { isName, isNameList, isSubject, NAME_LIST_RULE, NAME_RULE, SUBJECT_RULE } from '../keys/names.js';
import { CredentialRejected } from './credential-rejected.js';

const CLOCK_TOLERANCE_S = 60;
const RETRY_AFTER_S = 5;
const FETCH_MS = 5_000;
/** Between two fetches for a key that is not in the set: whoever makes up key ids must not make Acta fetch. */
const COOLDOWN_MS = 30_000;
const KEY_SET_AGE_MS = 600_000;
// Signatures of a key pair only: with a shared secret, a public key could pass for one (RFC 8725 section 2.1).
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export interface VerifiedToken {
  readonly principal: Principal;
  readonly expiresAt: Date;
}

/** Bearer tokens of one OpenID Connect provider (RFC 7519, RFC 8725). Its keys are fetched when one is first needed. */
export class OidcVerifier {
  private readonly keys: JWTVerifyGetKey;

  constructor(
    private readonly config: OidcConfig,
    private readonly now: () => number = Date.now,
  ) {
    this.keys = createRemoteJWKSet(new URL(config.jwksUrl), {
      timeoutDuration: FETCH_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: KEY_SET_AGE_MS,
    });
  }

  /** @throws Refusal for a token that is no good; DomainError Overloaded when the provider's keys cannot be had */
  async verify(token: string): Promise<VerifiedToken> {
    const { issuer, audience } = this.config;
    const payload = await jwtVerify(token, this.keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(this.now()),
      requiredClaims: ['exp'],
    }).then(
      (verified) => verified.payload,
      (error: unknown) => {
        throw refusalOf(error);
      },
    );
    return {
      principal: this.principalOf(payload),
      expiresAt: new Date((payload.exp! + CLOCK_TOLERANCE_S) * 1_000),
    };
  }

  private principalOf(payload: JWTPayload): Principal {
    const { claims } = this.config;
    const subject = payload[claims.subject];
    const tenantId = payload[claims.tenant];
    const rings = listOf(payload[claims.rings]);
    const admin = payload[claims.admin];
    // Signed by the provider: whoever sent it has guessed nothing.
    if (!isSubject(subject))
      throw new CredentialRejected(`the claim ${claims.subject} must be ${SUBJECT_RULE}`, 'genuine');
    if (!isName(tenantId)) throw new CredentialRejected(`the claim ${claims.tenant} must be ${NAME_RULE}`, 'genuine');
    if (rings === null) throw new CredentialRejected(`the claim ${claims.rings} must be ${NAME_LIST_RULE}`, 'genuine');
    const role = admin === true || admin === 'true' ? 'admin' : 'member';
    return { tenantId, subject, role, rings, agents: [] };
  }
}

/** An array, or one string with spaces between names, as the scopes of OAuth are written. */
function listOf(claim: unknown): string[] | null {
  if (claim === undefined || claim === null) return [];
  const values: unknown[] | null =
    typeof claim === 'string' ? claim.split(' ').filter((name) => name !== '') : Array.isArray(claim) ? claim : null;
  return values !== null && isNameList(values) ? [...new Set(values)] : null;
}

function refusalOf(error: unknown): Error {
  if (error instanceof errors.JWTExpired) return new CredentialRejected('the bearer token has expired', 'genuine');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new CredentialRejected(`the claim ${error.claim} of the bearer token is not acceptable`, 'genuine');
  }
  const aboutToken =
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys;
  if (aboutToken) return new CredentialRejected('the bearer token is not valid', 'guess');
  // What is left is the fetch of the key set. A 401 would tell the client to throw away a good token.
  return new DomainError('Overloaded', 'the keys of the identity provider cannot be had at the moment', {
    retryAfterSeconds: RETRY_AFTER_S,
  });
}
