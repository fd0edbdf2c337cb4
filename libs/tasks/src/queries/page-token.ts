import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { BOUNDS, invalidField } from '@app/domain';
import { ServerSecret } from '@app/storage';
import { Injectable } from '@nestjs/common';

/** The sort key of the last item of a page. The next page starts after it. */
export type PagePosition = readonly string[];

/**
 * Encrypts and decrypts opaque page tokens, with AES-256-GCM under a key of the server's secret. A token is bound to the
 * caller and the filters: it is valid only unaltered, for the same caller and the same filters.
 */
@Injectable()
export class PageTokens {
  constructor(private readonly secret: ServerSecret) {}

  encrypt(position: PagePosition, boundTo: unknown): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.secret.key('page-token'), nonce).setAAD(digest(boundTo));
    const encrypted = [cipher.update(JSON.stringify(position)), cipher.final()];
    return Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]).toString('base64url');
  }

  /** Errors: InvalidParameters. */
  decrypt(token: string, boundTo: unknown): PagePosition {
    const bytes = Buffer.from(token, 'base64url');
    try {
      // Node decodes invalid base64url, too. Only the exact text that `encrypt` returned is valid.
      if (bytes.toString('base64url') !== token) throw new Error('not canonical');
      const key = this.secret.key('page-token');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(digest(boundTo));
      decipher.setAuthTag(bytes.subarray(-16));
      const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
      return JSON.parse(plain.toString()) as PagePosition;
    } catch {
      throw invalidField('pageToken', 'invalid for this query; pass the token of the previous page unchanged');
    }
  }
}

/** Errors: InvalidParameters. */
export function requirePageSize(pageSize: number): void {
  if (Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= BOUNDS.pageSizeMax) return;
  throw invalidField('pageSize', `${pageSize} is not an integer from 1 to ${BOUNDS.pageSizeMax}`);
}

const digest = (boundTo: unknown): Buffer => createHash('sha256').update(JSON.stringify(boundTo)).digest();
