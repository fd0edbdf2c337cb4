import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { EVENT_SCHEMA_VERSIONS } from '../../../dist/libs/domain/src/index.js';
import { HASH_VERSION } from '../../../dist/libs/event-log/src/hash-chain.js';
import { eventHash, GENESIS_HASH, packAppendColumns } from '../../../dist/libs/event-log/src/index.js';
import { ContentCipher, ServerSecret } from '../../../dist/libs/storage/src/index.js';
import { EVENT_SAMPLES } from './event-samples.mjs';

// Adds one stored event to contracts/events.json for each event type and schema version that the file lacks. What it contains is
// never changed, because every later version must be able to read it.
const file = fileURLToPath(new URL('../../../contracts/events.json', import.meta.url));
const TASK = { tenantId: 'acme', taskId: '00000000-0000-8000-8000-000000000001' };
const written = await readFile(file, 'utf8').catch(() => null);
const fixture = written === null ? newStream() : JSON.parse(written);
const cipher = new ContentCipher(new ServerSecret(fixture.secret));
const key = cipher.unwrap(TASK.tenantId, TASK.taskId, Buffer.from(fixture.wrappedKey, 'hex'), fixture.keyId);
for (const [type, sample] of Object.entries(EVENT_SAMPLES)) {
  const schemaVersion = EVENT_SCHEMA_VERSIONS[/** @type {import('@app/domain').TaskEventType} */ (type)];
  const isWritten = fixture.events.some(
    (/** @type {any} */ event) => event.type === type && event.schema_version === schemaVersion,
  );
  if (!isWritten) fixture.events.push(storedEvent(type, schemaVersion, sample));
}
await writeFile(file, `${JSON.stringify(fixture, null, 2)}\n`);

function newStream() {
  const secret = 'the secret of the stored events in contracts, which is public';
  const { wrapped, keyId } = new ContentCipher(new ServerSecret(secret)).newKey(TASK.tenantId, TASK.taskId);
  return {
    about:
      'Stored events, bytes in hexadecimal. Written by `npm run event-fixtures`. Later versions of Acta must read them.',
    secret,
    wrappedKey: wrapped.toString('hex'),
    keyId,
    events: [],
  };
}

/** Returns the row of a new event at the end of the stream, and what a program that reads it gets. */
function storedEvent(
  /** @type {string} */ type,
  /** @type {number} */ schemaVersion,
  /** @type {{ facts: object, content?: object }} */ { facts, content },
) {
  const { events } = fixture;
  const version = events.length + 1;
  const previous = version === 1 ? GENESIS_HASH : Buffer.from(events.at(-1).hash, 'hex');
  const eventId = idOf(version);
  const append = {
    ...TASK,
    actorSubject: 'alice',
    actorRole: 'member',
    commandId: `command-${version}`,
    commandFingerprint: Buffer.alloc(32, version),
    correlationId: 'context-1',
    protocolVersion: version % 2 === 0 ? '1.0' : null,
    traceParent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    traceState: 'vendor=value',
    recordedAt: new Date(Date.UTC(2026, 0, 1) + version).toISOString(),
  };
  const encrypted = content === undefined || key === null ? null : cipher.encrypt(key, eventId, content);
  const columns = { version, eventId, type, schemaVersion, causationId: version === 1 ? null : idOf(version - 1) };
  const stored = { ...columns, facts: JSON.stringify(facts), content: encrypted };
  const hash = eventHash(HASH_VERSION, previous, packAppendColumns(append), stored);
  return {
    tenant_id: append.tenantId,
    task_id: append.taskId,
    version,
    event_id: eventId,
    type,
    schema_version: schemaVersion,
    facts: stored.facts,
    content: encrypted === null ? null : encrypted.toString('hex'),
    actor_subject: append.actorSubject,
    actor_role: append.actorRole,
    command_id: append.commandId,
    command_fingerprint: append.commandFingerprint.toString('hex'),
    causation_id: columns.causationId,
    correlation_id: append.correlationId,
    protocol_version: append.protocolVersion,
    trace_parent: append.traceParent,
    trace_state: append.traceState,
    recorded_at: append.recordedAt,
    hash_version: HASH_VERSION,
    previous_hash: previous.toString('hex'),
    hash: hash.toString('hex'),
    // What the event means in the current version. A later version can express it in a different form.
    content_text: content === undefined ? null : JSON.stringify(content),
  };
}

function idOf(/** @type {number} */ version) {
  return `00000000-0000-8000-8000-${String(version).padStart(12, '0')}`;
}
