import type { OidcConfig } from '@app/config';
import { DomainError, type Principal } from '@app/domain';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { isName, isNameList, isSubject, NAME_LIST_RULE, NAME_RULE, SUBJECT_RULE } from '../keys/names.js';
import { invalidCredential, unknownCredential } from './credential-rejected.js';

const CLOCK_TOLERANCE_S = 60;
const RETRY_AFTER_S = 5;
const FETCH_MS = 5_000;
/** Minimum time between two fetches for unknown key ids, so that invented key ids cause no further fetches. */
const COOLDOWN_MS = 30_000;
const KEY_SET_AGE_MS = 600_000;
// Only asymmetric signatures: an attacker could use the public key as the secret of a symmetric one (RFC 8725 section 2.1).
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

/** Verifies bearer tokens of one OpenID Connect provider (RFC 7519, RFC 8725). It fetches the provider's keys at the first token. */
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

  /** @throws CredentialRejected for an invalid token; DomainError Overloaded if the provider's keys cannot be fetched */
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
        throw verificationError(error);
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
    const rings = namesOf(payload[claims.rings]);
    const admin = payload[claims.admin];
    // The provider has signed the token, so it is not a guess.
    if (!isSubject(subject)) throw invalidCredential(`the claim ${claims.subject} must be ${SUBJECT_RULE}`);
    if (!isName(tenantId)) throw invalidCredential(`the claim ${claims.tenant} must be ${NAME_RULE}`);
    if (rings === null) throw invalidCredential(`the claim ${claims.rings} must be ${NAME_LIST_RULE}`);
    const role = admin === true || admin === 'true' ? 'admin' : 'member';
    return { tenantId, subject, role, rings, agents: [] };
  }
}

/** Reads a list of names: an array, or a string with spaces between names, like the scopes of OAuth. */
function namesOf(claim: unknown): string[] | null {
  if (claim === undefined || claim === null) return [];
  const values: unknown[] | null =
    typeof claim === 'string' ? claim.split(' ').filter((name) => name !== '') : Array.isArray(claim) ? claim : null;
  return values !== null && isNameList(values) ? [...new Set(values)] : null;
}

/** Returns what is wrong with a token that the provider may not have signed. Null: the token was not checked. */
function tokenProblem(error: unknown): string | null {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the bearer token is not valid';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'the bearer token names no key of the identity provider';
  }
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return 'the algorithm of the bearer token is not supported';
  }
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return 'the bearer token is not a JWT';
  return null;
}

function verificationError(error: unknown): Error {
  if (error instanceof errors.JWTExpired)
    return invalidCredential('the bearer token has expired; get a new one from the identity provider');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return invalidCredential(`the claim ${error.claim} of the bearer token is missing or not valid`);
  }
  const problem = tokenProblem(error);
  if (problem !== null) return unknownCredential(`${problem}; get a new token from the identity provider`);
  // All other errors are those of fetching the key set. With a 401, the client would discard a valid token.
  return new DomainError('Overloaded', 'the keys of the identity provider cannot be fetched; try again later', {
    retryAfterSeconds: RETRY_AFTER_S,
  });
}
