/** Postgres rejects a payload of 8000 bytes or more. */
const MAX_PAYLOAD_BYTES = 7_800;
/** Space for the brackets and the sender. */
const ENVELOPE_BYTES = 64;

/** A change of a task, as it is sent to other processes. */
export interface TaskNotification {
  readonly tenantId: string;
  readonly taskId: string;
  readonly version: number;
  /** The agent that has a queued run because of this change. */
  readonly queuedAgent?: string;
  /** Whether the change can have deliveries to webhooks. */
  readonly hasWebhookDeliveries?: boolean;
}

type EncodedNotification = [
  tenantId: string,
  taskId: string,
  version: number,
  queuedAgent: string | null,
  hasWebhookDeliveries: 0 | 1,
];

/** Identifies a task in a map. */
export function taskKeyOf({ tenantId, taskId }: Pick<TaskNotification, 'tenantId' | 'taskId'>): string {
  return `${tenantId}\n${taskId}`;
}

/** Returns JSON arrays of the sender and its notifications. Each array fits into one NOTIFY. */
export function encodePayloads(sender: string, notifications: Iterable<TaskNotification>): string[] {
  const payloads: string[] = [];
  let items: string[] = [];
  let bytes = 0;
  const endPayload = () => {
    if (items.length > 0) payloads.push(`[${JSON.stringify(sender)},${items.join(',')}]`);
    items = [];
    bytes = 0;
  };
  for (const notification of notifications) {
    const item = JSON.stringify(encode(notification));
    const itemBytes = Buffer.byteLength(item) + 1;
    if (bytes + itemBytes > MAX_PAYLOAD_BYTES - ENVELOPE_BYTES) endPayload();
    items.push(item);
    bytes += itemBytes;
  }
  endPayload();
  return payloads;
}

/** Returns the payload that a process sends when it starts to listen. */
export function encodePresence(sender: string): string {
  return JSON.stringify([sender]);
}

/** Returns no sender and no notifications for a payload of a different program or an unknown version of Acta. */
export function decodePayload(payload: string): { sender: string | null; notifications: TaskNotification[] } {
  try {
    const parsed = JSON.parse(payload) as unknown;
    if (Array.isArray(parsed) && parsed.slice(1).every(Array.isArray)) {
      const [sender, ...items] = parsed as [string, ...EncodedNotification[]];
      return { sender, notifications: items.map(decode) };
    }
  } catch {
    // The payload is not JSON.
  }
  return { sender: null, notifications: [] };
}

function encode(notification: TaskNotification): EncodedNotification {
  const { tenantId, taskId, version, queuedAgent, hasWebhookDeliveries } = notification;
  return [tenantId, taskId, version, queuedAgent ?? null, hasWebhookDeliveries === true ? 1 : 0];
}

function decode(encoded: EncodedNotification): TaskNotification {
  const [tenantId, taskId, version, queuedAgent, hasWebhookDeliveries] = encoded;
  return {
    tenantId,
    taskId,
    version,
    ...(queuedAgent === null ? {} : { queuedAgent }),
    ...(hasWebhookDeliveries === 1 ? { hasWebhookDeliveries: true } : {}),
  };
}
