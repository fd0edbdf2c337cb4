import { ChainVerifier } from '@app/audit';
import { describe, expect, it } from '@jest/globals';
import { EVENT_SCHEMA_VERSIONS, upcast, type TaskEventType } from '@app/domain';
import { ContentCipher, EventDecoder, ServerSecret, type StoredEvent } from '@app/storage';
import { readProjectFile } from '../support/project-files.js';

type Fixture = Omit<StoredEvent, 'content' | 'command_fingerprint' | 'previous_hash' | 'hash' | 'recorded_at'> & {
  readonly content: string | null;
  readonly command_fingerprint: string;
  readonly previous_hash: string;
  readonly hash: string;
  readonly recorded_at: string;
  readonly content_text: string | null;
};

const { secret, wrappedKey, keyId, events } = JSON.parse(readProjectFile('contracts/events.json')) as {
  secret: string;
  wrappedKey: string;
  keyId: string;
  events: Fixture[];
};
const serverSecret = new ServerSecret(secret);
const bytes = (hex: string) => Buffer.from(hex, 'hex');
const stored = events.map((event): StoredEvent => ({
  ...event,
  content: event.content === null ? null : bytes(event.content),
  command_fingerprint: bytes(event.command_fingerprint),
  previous_hash: bytes(event.previous_hash),
  hash: bytes(event.hash),
  recorded_at: new Date(event.recorded_at),
}));

describe('The stored events of contracts/events.json', () => {
  it('include each event type in every schema version', () => {
    const expected = Object.entries(EVENT_SCHEMA_VERSIONS).flatMap(([type, newest]) =>
      Array.from({ length: newest }, (_, index) => `${type} ${index + 1}`),
    );
    expect(events.map(({ type, schema_version: version }) => `${type} ${version}`).toSorted()).toEqual(
      expected.toSorted(),
    );
  });

  it('have a valid hash chain', () => {
    const verifier = new ChainVerifier();
    expect(stored.map((event) => verifier.check(event))).toEqual(stored.map(() => null));
    const altered = new ChainVerifier();
    expect(altered.check({ ...stored[0]!, actor_role: 'admin' })).toMatchObject({ reason: 'altered-event' });
  });

  it.each(stored.map((event, index) => [event.type, event, events[index]!] as const))(
    'have a readable %s',
    (_type, event, { content_text: contentText }) => {
      const decoder = new EventDecoder(serverSecret);
      const key = new ContentCipher(serverSecret).unwrap(event.tenant_id, event.task_id, bytes(wrappedKey), keyId);
      const decoded = decoder.decode(event, key);
      expect(decoded.missing).toBeUndefined();
      expect(decoded.facts).toEqual(
        upcast(event.type as TaskEventType, event.schema_version, JSON.parse(event.facts) as object),
      );
      expect(decoded.content ?? null).toEqual(contentText === null ? null : JSON.parse(contentText));
    },
  );
});
