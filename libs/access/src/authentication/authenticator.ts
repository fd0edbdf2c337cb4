import { timingSafeEqual } from 'node:crypto';
import type { OidcConfig } from '@app/config';
import { DomainError, type Principal } from '@app/domain';
import { type ApiKeys, hashToken, isExpired } from '../keys/api-keys.js';
import { OidcVerifier } from './oidc-verifier.js';
import { CredentialRejected } from './credential-rejected.js';
import { addressGroup, TokenBuckets } from './token-buckets.js';

/** Whoever has the token that a first start makes, and everybody where ACTA_AUTH is `none`. */
export const BOOTSTRAP_ADMIN: Principal = Object.freeze({
  tenantId: 'default',
  subject: 'admin',
  role: 'admin',
  rings: Object.freeze(['ring:default']),
  agents: Object.freeze([]),
});

export interface AuthenticationRequest {
  /** The header as it came. */
  readonly authorization: string | undefined;
  /** Of the client, as far as trusted proxies tell it. */
  readonly remoteAddress: string;
}

export interface AuthenticatorOptions {
  readonly auth: 'required' | 'none';
  /** Of the bootstrap admin. */
  readonly token: string;
  readonly oidc: OidcConfig | null;
  readonly apiKeys: ApiKeys;
  readonly now?: () => number;
}

interface Verified {
  readonly principal: Principal;
  readonly expiresAt: Date | null;
}

interface Remembered extends Verified {
  readonly verifiedAt: number;
}

/** How long a revocation elsewhere may go unnoticed. */
const TRUST_MS = 2_000;
const REMEMBERED = 10_000;
const HEADER_LENGTH = 8_192;
/** Failures at one address: a burst of them, then one a second. */
const FAILURES = { capacity: 50, refillPerSecond: 1, maxBuckets: 10_000 };
/** A bootstrap token of at least this many characters is not found by trying. */
const UNGUESSABLE_LENGTH = 32;

/** Turns the credential of a request into whoever it stands for. */
export class Authenticator {
  private readonly now: () => number;
  private readonly tokenDigest: Buffer;
  private readonly oidc: OidcVerifier | null;
  private readonly failures: TokenBuckets;
  /** By digest, in the order of use. What has been good before is asked for again after `TRUST_MS`. */
  private readonly remembered = new Map<string, Remembered>();
  private readonly running = new Map<string, Promise<Verified>>();

  constructor(private readonly options: AuthenticatorOptions) {
    this.now = options.now ?? Date.now;
    this.tokenDigest = hashToken(options.token);
    this.oidc = options.oidc === null ? null : new OidcVerifier(options.oidc, this.now);
    this.failures = new TokenBuckets(FAILURES, this.now);
    options.apiKeys.revokedTokens.subscribe((tokenDigest) => this.forget(tokenDigest));
  }

  /**
   * @throws DomainError Unauthenticated; RateLimited for an address with too many failures; Overloaded while the identity
   * provider's keys cannot be had
   */
  async authenticate({ authorization, remoteAddress }: AuthenticationRequest): Promise<Principal> {
    if (this.options.auth === 'none') return BOOTSTRAP_ADMIN;
    const token = bearerToken(authorization);
    const address = addressGroup(remoteAddress);
    // A client that was let in before is not shut out by its neighbours behind one address.
    if (!this.isKnown(token)) this.refuseAfterFailures(address);
    try {
      return await this.principalOf(token);
    } catch (error) {
      if (!(error instanceof CredentialRejected)) throw error;
      if (error.suspicion === 'guess') this.failures.take(address);
      throw unauthenticated(error.message);
    }
  }

  /**
   * Whom the credential of an open stream stands for now: its rings may have changed since. Cheap enough to ask every
   * few seconds. Throws as `authenticate` does, without counting.
   */
  async revalidate(authorization: string | undefined): Promise<Principal> {
    if (this.options.auth === 'none') return BOOTSTRAP_ADMIN;
    try {
      return await this.principalOf(bearerToken(authorization));
    } catch (error) {
      throw error instanceof CredentialRejected ? unauthenticated(error.message) : error;
    }
  }

  private async principalOf(token: string): Promise<Principal> {
    const tokenDigest = hashToken(token);
    if (timingSafeEqual(tokenDigest, this.tokenDigest)) return BOOTSTRAP_ADMIN;
    const key = tokenDigest.toString('base64');
    const known = this.remembered.get(key);
    const now = this.now();
    const fresh = known !== undefined && now - known.verifiedAt < TRUST_MS && now >= known.verifiedAt;
    const { principal, expiresAt } = fresh ? known : await this.verifyOnce(key, token);
    if (isExpired(expiresAt, this.now())) throw new CredentialRejected('the credential has expired', 'genuine');
    return principal;
  }

  /** Requests that come at once with one credential share one look-up. */
  private verifyOnce(key: string, token: string): Promise<Verified> {
    const running = this.running.get(key);
    if (running !== undefined) return running;
    const verifiedAt = this.now();
    const verification: Promise<Verified> = this.verify(token).then(
      (verified) => {
        // Not when it was withdrawn in the meantime.
        if (this.running.get(key) === verification) this.remember(key, { ...verified, verifiedAt });
        return verified;
      },
      (error: unknown) => {
        if (error instanceof CredentialRejected) this.remembered.delete(key);
        throw error;
      },
    );
    this.running.set(key, verification);
    const done = () => {
      if (this.running.get(key) === verification) this.running.delete(key);
    };
    verification.then(done, done);
    return verification;
  }

  private async verify(token: string): Promise<Verified> {
    if (this.oidc !== null && token.split('.').length === 3) return this.oidc.verify(token);
    const key = await this.options.apiKeys.find(token);
    if (key === null)
      throw new CredentialRejected('the bearer token is not known here: send one of this server, whole', 'guess');
    if (key.revokedAt !== null) throw new CredentialRejected('the API key has been revoked', 'genuine');
    const { tenantId, subject, role, expiresAt } = key;
    const principal = { tenantId, subject, role, rings: Object.freeze(key.rings), agents: Object.freeze(key.agents) };
    return { principal: Object.freeze(principal), expiresAt };
  }

  private remember(key: string, verified: Remembered): void {
    this.remembered.delete(key);
    this.remembered.set(key, verified);
    if (this.remembered.size > REMEMBERED) this.remembered.delete(this.remembered.keys().next().value!);
  }

  private forget(tokenDigest: string): void {
    this.remembered.delete(tokenDigest);
    this.running.delete(tokenDigest);
  }

  private isKnown(token: string): boolean {
    const tokenDigest = hashToken(token);
    if (this.remembered.has(tokenDigest.toString('base64'))) return true;
    return this.options.token.length >= UNGUESSABLE_LENGTH && timingSafeEqual(tokenDigest, this.tokenDigest);
  }

  private refuseAfterFailures(address: string): void {
    const retryAfterSeconds = this.failures.secondsUntilToken(address);
    if (retryAfterSeconds === 0) return;
    throw new DomainError('RateLimited', 'too many failed authentications from this address: try again later', {
      retryAfterSeconds,
    });
  }
}

function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw unauthenticated('a bearer token is required: send Authorization: Bearer <token>');
  }
  const [, token] =
    authorization.length > HEADER_LENGTH ? [] : (/^bearer +([\w.~+/-]+=*) *$/i.exec(authorization) ?? []);
  if (token === undefined) {
    throw unauthenticated('the Authorization header is not a bearer token: send Authorization: Bearer <token>');
  }
  return token;
}

const unauthenticated = (message: string) => new DomainError('Unauthenticated', message, {});
