import type { IncomingMessage } from 'node:http';
import { DomainError, type Json, type JsonObject } from '@app/domain';
import {
  type A2aClientCodec,
  type OutgoingMessage,
  parseJson,
  parseSse,
  type RemoteCard,
  type RemoteInterface,
  type RemoteTask,
  type RemoteUpdate,
  v03,
  v1,
  VERSION_HEADER,
} from '@app/wire';
import { ClientFailure } from './client-failure.js';
import { bodyOf, failureOf, type GuardedHttp } from './guarded-http.js';

/** An update of a stream. `id` is what the stream can be resumed after, when the agent gives one. */
export interface RemoteEvent {
  readonly update: RemoteUpdate;
  readonly id?: string;
}

const CODECS: Record<RemoteInterface['version'], A2aClientCodec> = { '1.0': v1.client, '0.3': v03.client };

/** The largest answer, and the largest event of a stream. */
const ANSWER_BYTES = 8 * 1024 * 1024;
/** For what an agent can say at once. */
const ANSWER_MS = 30_000;
/** For an agent's first word on a message: one that replies without a task says nothing until it is done. */
const WORK_MS = 600_000;
/** Many agents send no comments between events. A connection that is quiet for so long is asked anew. */
const QUIET_MS = 120_000;
const LISTED = 100;

/** Another agent, spoken to as its card wants it. Methods throw ClientFailure, or the reason of their signal. */
export class A2aClient {
  private readonly codec: A2aClientCodec;
  private calls = 0;

  constructor(
    private readonly http: GuardedHttp,
    readonly card: RemoteCard,
    /** Its `url` is absolute. */
    private readonly at: RemoteInterface,
    private readonly headers: Record<string, string>,
  ) {
    this.codec = CODECS[at.version];
  }

  /** Sends a message; the answer may take as long as the work does unless `returnImmediately` is heard. */
  async send(message: OutgoingMessage, signal: AbortSignal): Promise<RemoteUpdate> {
    const { codec } = this;
    const result = await this.call(codec.methods.send, codec.encodeSend(message), signal, WORK_MS);
    return decoded(() => codec.decodeUpdate(result));
  }

  /** Sends a message, and gives what comes of it. The end of the stream is no outcome: connections end. */
  stream(message: OutgoingMessage, signal: AbortSignal): AsyncGenerator<RemoteEvent> {
    return this.events(this.codec.methods.stream, this.codec.encodeSend(message), signal, WORK_MS);
  }

  /** What happens to a task, from its present state on, or after the event `lastEventId`. */
  subscribe(taskId: string, signal: AbortSignal, lastEventId?: string): AsyncGenerator<RemoteEvent> {
    const resume: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    return this.events(this.codec.methods.subscribe, { id: taskId }, signal, ANSWER_MS, resume);
  }

  /** The task as it stands, with ids of at most `historyLength` messages. */
  async task(taskId: string, historyLength: number, signal: AbortSignal): Promise<RemoteTask> {
    const result = await this.call(this.codec.methods.get, { id: taskId, historyLength }, signal);
    return decoded(() => this.codec.decodeTask(result));
  }

  async cancel(taskId: string, signal: AbortSignal): Promise<RemoteTask> {
    const result = await this.call(this.codec.methods.cancel, { id: taskId }, signal);
    return decoded(() => this.codec.decodeTask(result));
  }

  /** The newest tasks of a context, with the ids of their newest messages; none where the version has no list. */
  async tasksOf(contextId: string, signal: AbortSignal): Promise<RemoteTask[]> {
    const { list } = this.codec.methods;
    if (list === undefined) return [];
    const result = await this.call(list, { contextId, pageSize: LISTED, historyLength: LISTED }, signal);
    return decoded(() => this.codec.decodeTasks(result));
  }

  private async call(method: string, params: JsonObject, signal: AbortSignal, answerMs = ANSWER_MS): Promise<Json> {
    const response = await this.request(method, params, signal, answerMs);
    return resultOf(response.statusCode!, await bodyOf(response, ANSWER_BYTES, signal));
  }

  private async *events(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    answerMs: number,
    headers: Record<string, string> = {},
  ): AsyncGenerator<RemoteEvent> {
    const response = await this.request(method, params, signal, answerMs, headers);
    const status = response.statusCode!;
    try {
      if (!/^text\/event-stream\b/i.test(response.headers['content-type'] ?? '') || status !== 200) {
        const result = resultOf(status, await bodyOf(response, ANSWER_BYTES, signal));
        yield { update: decoded(() => this.codec.decodeUpdate(result)) };
        return;
      }
      for await (const arrival of arrivals(response, signal)) {
        const result = resultOf(status, Buffer.from(arrival.data));
        // It comes back as a header.
        const id = /^[\x21-\x7e]{1,256}$/.test(arrival.id) ? { id: arrival.id } : {};
        yield { update: decoded(() => this.codec.decodeUpdate(result)), ...id };
      }
    } finally {
      response.destroy();
    }
  }

  private request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    answerMs: number,
    headers: Record<string, string> = {},
  ): Promise<IncomingMessage> {
    const { url, tenant, version } = this.at;
    this.calls += 1;
    const scoped = tenant === undefined ? params : { ...params, tenant };
    return this.http.send(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        [VERSION_HEADER]: version,
        ...this.headers,
        ...headers,
      },
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: this.calls, method, params: scoped })),
      answerMs,
      quietMs: QUIET_MS,
      signal,
    });
  }
}

async function* arrivals(response: IncomingMessage, signal: AbortSignal) {
  try {
    for await (const arrival of parseSse(watched(response, signal), { maxEventBytes: ANSWER_BYTES })) {
      if (arrival.type === 'event') yield arrival;
    }
  } catch (error) {
    if (error instanceof ClientFailure || signal.aborted) throw error;
    throw new ClientFailure('invalid', (error as Error).message);
  }
}

/** The bytes of a stream, whose connection breaks with a failure that says so. */
async function* watched(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw failureOf(error, signal);
  }
}

/** The result in a JSON-RPC response. */
function resultOf(status: number, body: Buffer): Json {
  // Whatever the body says of it: the agent, or what stands before it, cannot answer now.
  if (status === 429 || status >= 500) throw new ClientFailure('unreachable', `it answered ${status}`, status);
  let response: Json;
  try {
    response = parseJson(body);
  } catch {
    if (status >= 400) throw new ClientFailure('refused', `it answered ${status}`, status);
    throw new ClientFailure('invalid', 'its answer is not JSON');
  }
  const { error, result } = isObject(response) ? response : {};
  if (isObject(error)) {
    const { message } = error;
    const code = Number(error['code']);
    const says = typeof message === 'string' && message !== '' ? `: ${message.slice(0, SAID)}` : '';
    throw new ClientFailure('refused', `it answered with error ${code}${says}`, code);
  }
  if (status >= 400) throw new ClientFailure('refused', `it answered ${status}`, status);
  if (result === undefined) throw new ClientFailure('invalid', 'its answer is no JSON-RPC response');
  return result;
}

const SAID = 500;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws ClientFailure for what is no A2A. */
export function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!DomainError.is(error, 'InvalidParameters')) throw error;
    const what = error.details.violations.map(({ field, description }) => `${field} ${description}`).join('; ');
    throw new ClientFailure('invalid', `its answer is no A2A: ${what}`);
  }
}
