import { createHmac } from 'node:crypto';
import { openBytes, sealBytes, type TaskKey } from './content-cipher.js';
import type { ServerSecret } from './server-secret.js';

/** Where a webhook is, and what it must be shown. */
export interface WebhookTarget {
  readonly url: string;
  /** Sent as `X-A2A-Notification-Token`. */
  readonly token?: string;
  /** Sent as `Authorization`. */
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

/** What an append does to the webhooks of its task; see `write_pushes`. */
export interface PushRows {
  readonly set?: { readonly configId: string; readonly protocolVersion: string; readonly target: WebhookTarget };
  readonly deleted?: readonly string[];
  /** What is to be told to whom. */
  readonly deliveries?: readonly { config_id: string; version: number }[];
}

interface Place {
  readonly tenantId: string;
  readonly taskId: string;
  readonly configId: string;
}

/**
 * AES-256-GCM over webhook targets, under a key that takes both the server's secret and the task's key: erasing a task
 * takes its webhooks with it.
 */
export class WebhookCipher {
  constructor(private readonly secret: ServerSecret) {}

  /** The rows as `write_pushes` takes them. */
  rows({ set, ...rest }: PushRows, key: TaskKey | null, task: Omit<Place, 'configId'>): object {
    if (set === undefined) return rest;
    if (key === null) throw new Error(`task ${task.taskId} was erased and takes no webhook`);
    const { configId, protocolVersion, target } = set;
    const { origin, pathname } = new URL(target.url);
    return {
      ...rest,
      set: {
        config_id: configId,
        protocol_version: protocolVersion,
        sealed_target: this.seal(target, key, { ...task, configId }).toString('base64'),
        origin_key: this.nameless(origin).toString('base64'),
        url_key: this.nameless(origin + pathname).toString('base64'),
      },
    };
  }

  /** Throws when the bytes are not what was stored for this webhook. */
  open(sealed: Buffer, key: TaskKey, place: Place): WebhookTarget {
    return JSON.parse(openBytes(this.keyOf(key), sealed, contextOf(place)).toString()) as WebhookTarget;
  }

  private seal(target: WebhookTarget, key: TaskKey, place: Place): Buffer {
    return sealBytes(this.keyOf(key), Buffer.from(JSON.stringify(target)), contextOf(place));
  }

  private keyOf({ key }: TaskKey): Buffer {
    return createHmac('sha256', this.secret.key('push-credentials')).update('target').update(key).digest();
  }

  /** The same for the same name, and no way back to it without the secret. */
  private nameless(name: string): Buffer {
    return this.secret.hmac('push-credentials', `lane ${name}`).subarray(0, 16);
  }
}

const contextOf = ({ tenantId, taskId, configId }: Place): string => JSON.stringify([tenantId, taskId, configId]);
