import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { invalidField } from '@app/domain';
import type { ServerSecret } from '@app/storage';

/** The sort key of the last thing that a page emitted: where the next one goes on. */
export type PagePosition = readonly string[];

/**
 * Opaque page tokens: AES-256-GCM under a key of the server's secret, bound to the caller and the filters, so that a
 * token that was altered, belongs to someone else or to another question does not open.
 */
export class PageTokens {
  constructor(private readonly secret: ServerSecret) {}

  seal(position: PagePosition, boundTo: unknown): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.secret.key('page-token'), nonce).setAAD(digest(boundTo));
    const sealed = [cipher.update(JSON.stringify(position)), cipher.final()];
    return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Errors: InvalidParameters. */
  open(token: string, boundTo: unknown): PagePosition {
    const bytes = Buffer.from(token, 'base64url');
    try {
      // Node reads base64url leniently; a token that is not what we wrote, byte for byte, is not our token.
      if (bytes.toString('base64url') !== token) throw new Error('not canonical');
      const key = this.secret.key('page-token');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(digest(boundTo));
      decipher.setAuthTag(bytes.subarray(-16));
      const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
      return JSON.parse(plain.toString()) as PagePosition;
    } catch {
      throw invalidField('pageToken', 'is not a token of this list; take it unchanged from the page before');
    }
  }
}

const digest = (boundTo: unknown): Buffer => createHash('sha256').update(JSON.stringify(boundTo)).digest();
