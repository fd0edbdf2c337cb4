import { timingSafeEqual } from 'node:crypto';
import type { OidcConfig } from '@app/config';
import { Clock, DomainError, type Principal } from '@app/domain';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ApiKeys, hashToken, isExpired } from '../keys/api-keys.js';
import { addressGroup } from './address-group.js';
import { CredentialRejected, invalidCredential, unknownCredential } from './credential-rejected.js';
import { OidcVerifier } from './oidc-verifier.js';
import { TokenBuckets } from './token-buckets.js';

/** The principal of the bootstrap token, and of every caller if ACTA_AUTH is `none`. */
export const BOOTSTRAP_ADMIN: Principal = Object.freeze({
  tenantId: 'default',
  subject: 'admin',
  role: 'admin',
  rings: Object.freeze(['ring:default']),
  agents: Object.freeze([]),
});

export interface AuthenticationRequest {
  /** The Authorization header as received. */
  readonly authorization: string | undefined;
  /** The address of the client, as trusted proxies report it. */
  readonly remoteAddress: string;
}

/** How requests are authenticated. */
export abstract class AccessOptions {
  abstract readonly auth: 'required' | 'none';
  /** The token of the bootstrap admin. Null: there is none. */
  abstract readonly token: string | null;
  abstract readonly oidc: OidcConfig | null;
}

interface VerifiedCredential {
  readonly principal: Principal;
  readonly expiresAt: Date | null;
}

interface CachedCredential extends VerifiedCredential {
  readonly verifiedAt: number;
}

/** How long this process may accept a key that a different process has revoked. */
const CACHE_MS = 2_000;
const CACHE_SIZE = 10_000;
/** An identity token with 100 rings of the maximum length fits. */
const HEADER_LENGTH = 49_152;
/** Failed authentications of one address: a burst, then one per second. */
const FAILURE_LIMITS = { capacity: 50, refillPerSecond: 1, maxBuckets: 10_000 };

/** Authenticates requests: returns the principal of a credential. */
@Injectable()
export class Authenticator {
  private readonly bootstrapHash: Buffer | null;
  private readonly oidc: OidcVerifier | null;
  private readonly failures: TokenBuckets;
  /** Verified credentials by token hash. An entry is verified again after `CACHE_MS`. */
  private readonly cache = new LRUCache<string, CachedCredential>({ max: CACHE_SIZE });
  private readonly verifications = new Map<string, Promise<VerifiedCredential>>();

  constructor(
    private readonly options: AccessOptions,
    private readonly apiKeys: ApiKeys,
    private readonly clock: Clock = new Clock(),
  ) {
    const now = () => this.clock.now().getTime();
    this.bootstrapHash = options.token === null ? null : hashToken(options.token);
    this.oidc = options.oidc === null ? null : new OidcVerifier(options.oidc, now);
    this.failures = new TokenBuckets(FAILURE_LIMITS, now);
    this.apiKeys.revokedTokens.subscribe((tokenHash) => this.forget(tokenHash));
  }

  /**
   * Returns the principal of a request, and counts failures by address.
   *
   * @throws DomainError Unauthenticated; RateLimited for an address with too many failures; Overloaded if the keys of the
   * identity provider cannot be fetched
   */
  async authenticate({ authorization, remoteAddress }: AuthenticationRequest): Promise<Principal> {
    if (this.options.auth === 'none') return BOOTSTRAP_ADMIN;
    const token = bearerToken(authorization);
    const address = addressGroup(remoteAddress);
    // A known client is not limited by the failures of other clients at the same address.
    if (!this.isKnown(token)) this.checkFailureLimit(address);
    try {
      return await this.principalOf(token);
    } catch (error) {
      if (!(error instanceof CredentialRejected)) throw error;
      if (error.mayBeGuessed) this.failures.take(address);
      throw unauthenticated(error.message);
    }
  }

  /**
   * Returns the current principal of the credential of an open stream, whose rings may have changed. It is cheap enough for a
   * check every few seconds. Throws like `authenticate`, but does not count failures.
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
    const tokenHash = hashToken(token);
    if (this.isBootstrapToken(tokenHash)) return BOOTSTRAP_ADMIN;
    const key = tokenHash.toString('base64');
    const cached = this.cache.get(key);
    const now = this.clock.now().getTime();
    const isFresh = cached !== undefined && now - cached.verifiedAt < CACHE_MS && now >= cached.verifiedAt;
    const { principal, expiresAt } = isFresh ? cached : await this.verifyOnce(key, token);
    if (isExpired(expiresAt, this.clock.now())) throw invalidCredential('the credential has expired; get a new one');
    return principal;
  }

  /** Concurrent requests with one credential share one verification. */
  private verifyOnce(key: string, token: string): Promise<VerifiedCredential> {
    const running = this.verifications.get(key);
    if (running !== undefined) return running;
    const verifiedAt = this.clock.now().getTime();
    const verification: Promise<VerifiedCredential> = this.verify(token).then(
      (verified) => {
        // Not if the key was revoked during the verification.
        if (this.verifications.get(key) === verification) this.cache.set(key, { ...verified, verifiedAt });
        return verified;
      },
      (error: unknown) => {
        if (error instanceof CredentialRejected) this.cache.delete(key);
        throw error;
      },
    );
    this.verifications.set(key, verification);
    const finish = () => {
      if (this.verifications.get(key) === verification) this.verifications.delete(key);
    };
    verification.then(finish, finish);
    return verification;
  }

  private async verify(token: string): Promise<VerifiedCredential> {
    if (this.oidc !== null && token.split('.').length === 3) return this.oidc.verify(token);
    const key = await this.apiKeys.find(token);
    if (key === null) throw unknownCredential('the bearer token is unknown; send a complete token of this server');
    if (key.revokedAt !== null) throw invalidCredential('the API key has been revoked; use a different one');
    const { tenantId, subject, role, expiresAt } = key;
    const principal = { tenantId, subject, role, rings: Object.freeze(key.rings), agents: Object.freeze(key.agents) };
    return { principal: Object.freeze(principal), expiresAt };
  }

  private forget(tokenHash: string): void {
    this.cache.delete(tokenHash);
    this.verifications.delete(tokenHash);
  }

  private isKnown(token: string): boolean {
    const tokenHash = hashToken(token);
    return this.cache.has(tokenHash.toString('base64')) || this.isBootstrapToken(tokenHash);
  }

  private isBootstrapToken(tokenHash: Buffer): boolean {
    return this.bootstrapHash !== null && timingSafeEqual(tokenHash, this.bootstrapHash);
  }

  private checkFailureLimit(address: string): void {
    const retryAfterSeconds = this.failures.secondsUntilToken(address);
    if (retryAfterSeconds === 0) return;
    throw new DomainError('RateLimited', 'too many failed authentications from this address; try again later', {
      retryAfterSeconds,
    });
  }
}

function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw credentialRequired();
  }
  const [, token] =
    authorization.length > HEADER_LENGTH ? [] : (/^bearer +([\w.~+/-]+=*) *$/i.exec(authorization) ?? []);
  if (token === undefined) {
    throw unauthenticated('the Authorization header is not a bearer token; send Authorization: Bearer <token>');
  }
  return token;
}

const unauthenticated = (message: string) => new DomainError('Unauthenticated', message, {});

/** Returns the error of a request without a credential. */
export const credentialRequired = () =>
  unauthenticated('a bearer token is required; send Authorization: Bearer <token>');
