/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json;
}

/**
 * One piece of what a message or an artifact says: exactly one of `text`, `raw`, `url` and `data` is present.
 * The shape is that of A2A v1.0 (section 4.1.6) in ProtoJSON: `raw` is base64, `data` may be any JSON value, null included.
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

/** What a run published of one artifact in one event; an artifact is its chunks in order. */
export interface ArtifactContent {
  name?: string;
  description?: string;
  parts: Part[];
  metadata?: JsonObject;
  extensions?: string[];
}

/** The encrypted half of an event: what people and agents wrote. */
export interface EventContent {
  message?: Message;
  artifact?: ArtifactContent;
}

/** The text parts of a message, joined by line breaks: what most agents read. */
export function textOf(message: Pick<Message, 'parts'>): string {
  return message.parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join('\n');
}

/** Length in bytes of a value as UTF-8 JSON: the unit of every size bound. */
export function encodedBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
