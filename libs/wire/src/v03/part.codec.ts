import type { Json, JsonObject, Part, ViewPart } from '@app/domain';
import { resolvePlaceholder } from '../placeholder.js';
import { isObject, ObjectReader } from '../validation/object-reader.js';
import { embedInMetadata, extractFromMetadata } from './embedded-metadata.js';

/*
 * A v0.3 part says less than a v1.0 one. What its shape has no place for travels in its metadata, under these keys, so that
 * content survives a round trip through v0.3:
 *
 * - `data_part_compat: true` marks data that is no object, wrapped as `{value: …}`. The official SDKs do the same, so that their
 *   v0.3 clients understand it.
 * - `acta/filename` and `acta/mediaType` hold those of a text or data part; a file has `name` and `mimeType`.
 * - `acta/metadata` holds the part's own metadata when that uses one of these keys itself.
 */
const WRAPPED = 'data_part_compat';
const FILENAME = 'acta/filename';
const MEDIA_TYPE = 'acta/mediaType';
const RESERVED = [WRAPPED, FILENAME, MEDIA_TYPE];

export function encodePart(part: ViewPart): JsonObject {
  const { text, raw, url, data, metadata, filename, mediaType } = resolvePlaceholder(part);
  if (raw !== undefined || url !== undefined) {
    const names = { ...(filename ? { name: filename } : {}), ...(mediaType ? { mimeType: mediaType } : {}) };
    const file = raw === undefined ? { uri: url ?? '', ...names } : { bytes: raw, ...names };
    return { kind: 'file', file, ...embedInMetadata(metadata, {}, RESERVED) };
  }
  const extra = { ...(filename ? { [FILENAME]: filename } : {}), ...(mediaType ? { [MEDIA_TYPE]: mediaType } : {}) };
  if (text !== undefined) return { kind: 'text', text, ...embedInMetadata(metadata, extra, RESERVED) };
  if (isObject(data)) return { kind: 'data', data, ...embedInMetadata(metadata, extra, RESERVED) };
  return {
    kind: 'data',
    data: { value: data ?? null },
    ...embedInMetadata(metadata, { ...extra, [WRAPPED]: true }, RESERVED),
  };
}

/** Reads `parts[at]` of a message; what is wrong goes to the reader's violations. */
export const decodePart = (source: Json, message: ObjectReader, name: string): Part =>
  readPart(source, message, name, decodeContent);

/** Reads a part around its content, which both bindings shape differently. `extra` is what its metadata carried. */
export function readPart(
  source: Json,
  message: ObjectReader,
  name: string,
  readContent: (part: ObjectReader, extra: JsonObject) => Part,
): Part {
  if (!isObject(source)) {
    message.addViolation(name, 'must be an object');
    return {};
  }
  const reader = new ObjectReader(source, message.pathOf(name), message.violations, message.fieldCase);
  const { own, extra } = extractFromMetadata(reader.object('metadata'), RESERVED);
  const part = readContent(reader, extra);
  if (own !== undefined) part.metadata = own;
  const { [FILENAME]: filename, [MEDIA_TYPE]: mediaType } = extra;
  if (typeof filename === 'string' && filename !== '') part.filename ??= filename;
  if (typeof mediaType === 'string' && mediaType !== '') part.mediaType ??= mediaType;
  return part;
}

function decodeContent(reader: ObjectReader, extra: JsonObject): Part {
  const kind = reader.value('kind');
  switch (kind) {
    case 'text': {
      const text = reader.string('text', 'kept');
      if (reader.value('text') === undefined) reader.addViolation('text', 'is required');
      return { text };
    }
    case 'data':
      return readData(reader, extra);
    case 'file':
      return readFile(reader, { bytes: 'bytes', uri: 'uri' });
    default:
      reader.addViolation('kind', 'must be text, file or data');
      return {};
  }
}

/** The object in `data`, unwrapped where it stands for something else. */
export function readData(reader: ObjectReader, extra: JsonObject): Part {
  const data = reader.value('data');
  if (!isObject(data)) reader.addViolation('data', 'must be an object');
  const wrapped = extra[WRAPPED] === true && isObject(data) && Object.hasOwn(data, 'value');
  return { data: wrapped ? data['value'] : data };
}

/** The object in `file`, whose content has one of two names. */
export function readFile(part: ObjectReader, names: { readonly bytes: string; readonly uri: string }): Part {
  const source = part.value('file');
  if (!isObject(source)) {
    part.addViolation('file', 'must be an object');
    return {};
  }
  const file = new ObjectReader(source, part.pathOf('file'), part.violations, part.fieldCase);
  const bytes = file.value(names.bytes);
  const uri = file.value(names.uri);
  if ((bytes === undefined) === (uri === undefined)) {
    part.addViolation('file', `must have exactly one of ${names.bytes} and ${names.uri}`);
  }
  if (uri === '') file.addViolation(names.uri, 'must not be empty');
  const filename = file.string('name');
  const mediaType = file.string('mimeType');
  return {
    ...(bytes === undefined ? { url: file.string(names.uri) } : { raw: file.base64(names.bytes) }),
    ...(filename === undefined ? {} : { filename }),
    ...(mediaType === undefined ? {} : { mediaType }),
  };
}
