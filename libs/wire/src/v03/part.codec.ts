import type { Json, JsonObject, Part, ViewPart } from '@app/domain';
import { resolvePlaceholder } from '../task/placeholder.js';
import { contentUrlProblem, filenameProblem, mediaTypeProblem } from '../validation/content-rules.js';
import { isObject, ObjectReader, withValue } from '../validation/object-reader.js';
import { embedInMetadata, extractFromMetadata } from './embedded-metadata.js';

/*
 * A v0.3 part has fewer fields than a v1.0 part. The other fields are embedded in its metadata under these keys, so that content
 * survives a round trip through v0.3:
 *
 * - `data_part_compat: true` marks data that is not an object, wrapped as `{value: …}`. The official SDKs do the same, so that their
 *   v0.3 clients understand it.
 * - `acta/filename` and `acta/mediaType` contain those of a text or data part. A file has `name` and `mimeType`.
 * - `acta/metadata` contains the part's own metadata if that uses one of these keys.
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
  const fields = { ...(filename ? { [FILENAME]: filename } : {}), ...(mediaType ? { [MEDIA_TYPE]: mediaType } : {}) };
  if (text !== undefined) return { kind: 'text', text, ...embedInMetadata(metadata, fields, RESERVED) };
  if (isObject(data)) return { kind: 'data', data, ...embedInMetadata(metadata, fields, RESERVED) };
  const wrapped = { value: data ?? null };
  return { kind: 'data', data: wrapped, ...embedInMetadata(metadata, { ...fields, [WRAPPED]: true }, RESERVED) };
}

/** Reads the part `name` of a message or an artifact. Errors are added to the violations of the message. */
export const decodePart = (source: Json, message: ObjectReader, name: string): Part =>
  readPart(source, message, name, decodeContent);

/** Reads a part. `readContent` reads its content, which differs between the bindings. `fields` are those in the metadata. */
export function readPart(
  source: Json,
  message: ObjectReader,
  name: string,
  readContent: (part: ObjectReader, fields: JsonObject) => Part,
): Part {
  if (!isObject(source)) {
    message.addViolation(name, withValue('must be an object', source));
    return {};
  }
  const reader = new ObjectReader(source, message.pathOf(name), message.violations, message.fieldCase);
  const { original, fields } = extractFromMetadata(reader.object('metadata'), RESERVED);
  const part = readContent(reader, fields);
  if (original !== undefined) part.metadata = original;
  const embedded = new ObjectReader(fields, reader.pathOf('metadata'), reader.violations, 'camel');
  const filename = embedded.checkedString(FILENAME, filenameProblem);
  const mediaType = embedded.checkedString(MEDIA_TYPE, mediaTypeProblem);
  if (filename !== undefined) part.filename ??= filename;
  if (mediaType !== undefined) part.mediaType ??= mediaType;
  return part;
}

function decodeContent(reader: ObjectReader, fields: JsonObject): Part {
  const kind = reader.value('kind');
  switch (kind) {
    case 'text': {
      const text = reader.string('text', 'kept');
      if (reader.value('text') === undefined) reader.addViolation('text', 'is required');
      return { text };
    }
    case 'data':
      return readData(reader, fields);
    case 'file':
      return readFile(reader, { bytes: 'bytes', uri: 'uri' });
    default:
      reader.addViolation('kind', withValue('must be text, file or data', kind));
      return {};
  }
}

/** Reads the object in `data`, and unwraps it if it contains a value of a different type. */
export function readData(reader: ObjectReader, fields: JsonObject): Part {
  const data = reader.value('data');
  if (!isObject(data)) reader.addViolation('data', withValue('must be an object', data));
  const isWrapped = fields[WRAPPED] === true && isObject(data) && Object.hasOwn(data, 'value');
  return { data: isWrapped ? data['value'] : data };
}

/** Reads the object in `file`. `names` are the names of its content in the binding. */
export function readFile(part: ObjectReader, names: { readonly bytes: string; readonly uri: string }): Part {
  const source = part.value('file');
  if (!isObject(source)) {
    part.addViolation('file', withValue('must be an object', source));
    return {};
  }
  const file = new ObjectReader(source, part.pathOf('file'), part.violations, part.fieldCase);
  const bytes = file.value(names.bytes);
  const uri = file.value(names.uri);
  if ((bytes === undefined) === (uri === undefined)) {
    part.addViolation('file', `must have exactly one of ${names.bytes} and ${names.uri}`);
  }
  if (uri === '') file.addViolation(names.uri, 'must not be empty');
  const filename = file.checkedString('name', filenameProblem);
  const mediaType = file.checkedString('mimeType', mediaTypeProblem);
  return {
    ...(bytes === undefined
      ? { url: file.checkedString(names.uri, contentUrlProblem) }
      : { raw: file.base64(names.bytes) }),
    ...(filename === undefined ? {} : { filename }),
    ...(mediaType === undefined ? {} : { mediaType }),
  };
}
