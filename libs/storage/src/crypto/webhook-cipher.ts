import { createHmac } from 'node:crypto';
import type { WebhookId } from '@app/domain';
import { decryptBytes, encryptBytes, type TaskKey } from './content-cipher.js';
import type { ServerSecret } from './server-secret.js';

const BLIND_INDEX_BYTES = 16;

/** The address of a webhook, and the credentials that its requests contain. */
export interface WebhookTarget {
  readonly url: string;
  /** Sent as `X-A2A-Notification-Token`. */
  readonly token?: string;
  /** Sent as `Authorization`. */
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

/** Identifies one webhook of a task, as columns. */
interface WebhookIdColumns {
  readonly subject: string;
  readonly config_id: string;
}

/** The changes that an append makes to the webhooks of its task, for the SQL function `write_pushes`. */
export interface WebhookRows {
  readonly set?: WebhookId & { readonly protocolVersion: string; readonly target: WebhookTarget };
  /** Webhooks that are removed with their outstanding deliveries. */
  readonly deleted?: readonly WebhookIdColumns[];
  /** Webhooks that are removed. Their deliveries stay, to show why. */
  readonly retired?: readonly WebhookIdColumns[];
  /** The new deliveries: the webhook, and the version of the event. */
  readonly deliveries?: readonly (WebhookIdColumns & { version: number })[];
}

/** Identifies one webhook. */
interface WebhookKey extends WebhookId {
  readonly tenantId: string;
  readonly taskId: string;
}

/**
 * Encrypts webhook targets with AES-256-GCM under a key that is derived from the server secret and the task's key.
 * Erasing a task therefore erases the targets of its webhooks.
 */
export class WebhookCipher {
  constructor(private readonly secret: ServerSecret) {}

  /** Returns the rows in the form that `write_pushes` expects, with the target encrypted. Throws for an erased task. */
  encryptRows({ set, ...rest }: WebhookRows, key: TaskKey | null, task: Omit<WebhookKey, keyof WebhookId>): object {
    if (set === undefined) return rest;
    if (key === null) throw new Error(`Task ${task.taskId} was erased, so it cannot have a webhook.`);
    const { subject, configId, protocolVersion, target } = set;
    const { origin, pathname } = new URL(target.url);
    return {
      ...rest,
      set: {
        subject,
        config_id: configId,
        protocol_version: protocolVersion,
        sealed_target: this.encrypt(target, key, { ...task, subject, configId }).toString('base64'),
        origin_key: this.blindIndex(task.tenantId, origin).toString('base64'),
        url_key: this.blindIndex(task.tenantId, origin + pathname).toString('base64'),
      },
    };
  }

  /** Returns null if the bytes are not what was stored for this webhook with this server's secret. */
  decrypt(encrypted: Buffer, key: TaskKey, webhook: WebhookKey): WebhookTarget | null {
    try {
      const plain = decryptBytes(this.targetKeyOf(key), encrypted, associatedDataOf(webhook));
      return JSON.parse(plain.toString()) as WebhookTarget;
    } catch {
      return null;
    }
  }

  private encrypt(target: WebhookTarget, key: TaskKey, webhook: WebhookKey): Buffer {
    return encryptBytes(this.targetKeyOf(key), Buffer.from(JSON.stringify(target)), associatedDataOf(webhook));
  }

  private targetKeyOf({ key }: TaskKey): Buffer {
    return createHmac('sha256', this.secret.key('push-credentials')).update('target').update(key).digest();
  }

  /** Returns a keyed hash, by which the database can compare the addresses of one tenant without containing them. */
  private blindIndex(tenantId: string, address: string): Buffer {
    return this.secret.hmac('push-credentials', JSON.stringify([tenantId, address])).subarray(0, BLIND_INDEX_BYTES);
  }
}

function associatedDataOf({ tenantId, taskId, subject, configId }: WebhookKey): string {
  return JSON.stringify([tenantId, taskId, subject, configId]);
}
