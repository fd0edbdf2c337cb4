import type { Json, JsonObject, Message, Part } from '@app/domain';
import fc from 'fast-check';

const text = fc.string({ unit: 'binary' });
const someText = fc.string({ unit: 'grapheme', minLength: 1 });
const filename = someText.filter((name) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name));
const mediaType = fc.stringMatching(/^[\w!#$&^.+-]{1,20}\/[\w!#$&^.+-]{1,20}(?: ?;[\x20-\x7e]{0,20})?$/);
const id = fc.uuid();
/** JSON values only: no -0, no prototypes. */
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
const RESERVED = [
  'data_part_compat',
  'acta/filename',
  'acta/mediaType',
  'acta/metadata',
  'acta/referenceTaskIds',
  '__proto__',
  'value',
];
export const metadata = fc
  .dictionary(fc.oneof(text, fc.constantFrom(...RESERVED)), json, { minKeys: 1, maxKeys: 4, noNullPrototype: true })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

const content = fc.oneof(
  text.map((value): Part => ({ text: value })),
  fc.uint8Array({ maxLength: 40 }).map((bytes): Part => ({ raw: Buffer.from(bytes).toString('base64') })),
  fc.webUrl().map((url): Part => ({ url })),
  json.map((data): Part => ({ data })),
  // v0.3 wraps data that is no object under the same key.
  json.map((value): Part => ({ data: { value } })),
);
export const part = fc
  .tuple(content, fc.record({ metadata, filename, mediaType }, { requiredKeys: [] }))
  .map(([what, rest]): Part => ({ ...what, ...rest }));
/** Generates any message of a client that A2A can encode. */
export const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: id,
    role: fc.constant('user' as const),
    parts: fc.array(part, { minLength: 1, maxLength: 4 }),
    metadata,
    extensions: fc.array(fc.webUrl(), { minLength: 1, maxLength: 2 }),
    referenceTaskIds: fc.array(id, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
);
