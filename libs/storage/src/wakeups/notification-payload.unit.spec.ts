import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodePayload, encodePresence, encodePayloads, type TaskNotification } from './notification-payload.js';

const notifications: fc.Arbitrary<TaskNotification[]> = fc.array(
  fc.record(
    {
      tenantId: fc.string({ unit: 'binary' }),
      taskId: fc.string({ unit: 'binary' }),
      version: fc.nat(),
      queuedAgent: fc.string(),
      hasWebhookDeliveries: fc.constant(true),
    },
    { requiredKeys: ['tenantId', 'taskId', 'version'] },
  ),
  { maxLength: 300 },
);

describe('The payloads of NOTIFY', () => {
  it('contain all notifications in order, each payload below the limit of Postgres', () => {
    fc.assert(
      fc.property(notifications, (sent) => {
        const payloads = encodePayloads('sender', sent);
        const decoded = payloads.map((payload) => decodePayload(payload));
        expect(decoded.flatMap((payload) => payload.notifications)).toEqual(sent);
        expect(new Set(decoded.map(({ sender }) => sender)).size).toBeLessThanOrEqual(1);
        for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
      }),
    );
  });

  it('contain only the sender in a greeting', () => {
    expect(decodePayload(encodePresence('sender'))).toEqual({ sender: 'sender', notifications: [] });
  });

  it.each(['', 'no JSON', '5', 'null', '"x"', '{}', '["x", 7]'])(
    'are ignored if they are not from Acta (%j)',
    (payload) => {
      expect(decodePayload(payload)).toEqual({ sender: null, notifications: [] });
    },
  );
});
