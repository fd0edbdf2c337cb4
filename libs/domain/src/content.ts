import { BOUNDS } from './bounds.js';

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json;
}

/**
 * One part of a message or an artifact: exactly one of `text`, `raw`, `url` and `data` is present. The shape is that of A2A v1.0 (section 4.1.6) in ProtoJSON: `raw` is base64, `data` may be any JSON value, null included.
 */
export interface Part {
  text?: string;
  raw?: string;
  url?: string;
  data?: Json;
  metadata?: JsonObject;
  filename?: string;
  mediaType?: string;
}

export type Role = 'user' | 'agent';

/** One turn of a conversation. */
export interface Message {
  messageId: string;
  role: Role;
  parts: Part[];
  metadata?: JsonObject;
  extensions?: string[];
  referenceTaskIds?: string[];
}

/** One chunk of an artifact, as one event publishes it. An artifact is its chunks in order. */
export interface ArtifactContent {
  name?: string;
  description?: string;
  parts: Part[];
  metadata?: JsonObject;
  extensions?: string[];
}

/** The part of a request that its client wrote. */
export interface RequestContent {
  /** The metadata of the request, not of its message. */
  readonly metadata?: JsonObject;
  /** How the client calls itself (`User-Agent`). */
  readonly clientName?: string;
}

/** The encrypted part of an event: what people and agents wrote. */
export interface EventContent {
  message?: Message;
  artifact?: ArtifactContent;
  /** The URL of a webhook. Events never contain its secrets. */
  push?: { url: string };
  /** What the client wrote into the request that brought the message. */
  request?: RequestContent;
}

/** Returns the text parts of a message, joined by line breaks. */
export function textOf(message: Pick<Message, 'parts'>): string {
  return message.parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join('\n');
}

/** Returns the size of a value in bytes of UTF-8 JSON, which is the unit of every size bound. */
export function encodedBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Content is at most three levels deeper than its request: the simple REST's `input` becomes `message.parts[0].data`. */
const CONTENT_DEPTH = BOUNDS.jsonDepth + 3;

/**
 * Returns why a view cannot show a stored value, or null if it can: the value has not the shape of `EventContent`, or it is
 * nested more deeply than a request can make it.
 */
export function contentProblem(stored: unknown): 'malformed' | 'too-deep' | null {
  if (!isRecord(stored)) return 'malformed';
  if (!isWithinDepth(stored, CONTENT_DEPTH)) return 'too-deep';
  const { message, artifact, request } = stored;
  if (message !== undefined && !(isRecord(message) && isMessage(message))) return 'malformed';
  if (artifact !== undefined && !(isRecord(artifact) && isParts(artifact['parts']))) return 'malformed';
  if (request !== undefined && !(isRecord(request) && isRequest(request))) return 'malformed';
  return null;
}

type Unknown = Record<string, unknown>;

const isRecord = (value: unknown): value is Unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isMessage = ({ messageId, role, parts }: Unknown): boolean =>
  typeof messageId === 'string' && (role === 'user' || role === 'agent') && isParts(parts);

const isRequest = ({ metadata, clientName }: Unknown): boolean =>
  (metadata === undefined || isRecord(metadata)) && (clientName === undefined || typeof clientName === 'string');

const isParts = (parts: unknown): boolean =>
  Array.isArray(parts) &&
  parts.length > 0 &&
  parts.every(
    (part) =>
      isRecord(part) &&
      ['text', 'raw', 'url', 'data'].filter((kind) => part[kind] !== undefined).length === 1 &&
      // Only views have placeholders.
      !('placeholder' in part),
  );

function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isWithinDepth(member, depth - 1));
}
