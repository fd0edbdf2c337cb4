import type { Json, JsonObject, TraceContext } from '@app/domain';
import type { HttpResponse, PinnedHttpClient } from '@app/network';
import {
  type A2aClientCodec,
  type OutgoingMessage,
  parseJson,
  PROTOCOLS,
  type UpstreamCard,
  type UpstreamInterface,
  type UpstreamTaskSnapshot,
  type UpstreamUpdate,
  VERSION_HEADER,
} from '@app/wire';
import { ClientFailure, decodeResponse, toClientFailure } from './client-failure.js';
import { parseSseEvents } from './sse-events.js';
import { traceHeaders } from './trace-headers.js';

/** An update of a stream. `id` is present if the agent sent one; the stream can be resumed after it. */
export interface UpstreamEvent {
  readonly update: UpstreamUpdate;
  readonly id?: string;
}

/** Limit for a response in bytes, and for one event of a stream in UTF-16 units. */
const MAX_RESPONSE_SIZE = 8 * 1024 * 1024;
/** For requests to which an agent can respond without work. */
const RESPONSE_TIMEOUT_MS = 30_000;
/** For a message: an agent that replies without a task may respond only when its work is done. */
const WORK_TIMEOUT_MS = 600_000;
/** Many agents send no comments between events. After this time the stream is opened again. */
const IDLE_TIMEOUT_MS = 120_000;
const LIST_PAGE_SIZE = 100;
const MAX_ERROR_TEXT_LENGTH = 500;

/** What the requests of a client have in common. */
export interface RequestContext {
  /** URIs of the A2A extensions that the requests name, in addition to those that the agent requires. */
  readonly extensions: readonly string[];
  /** The trace that each request continues as a new span. */
  readonly trace?: TraceContext;
}

/** A client of one agent, in the version that its card names. Methods throw ClientFailure, or the reason of their signal. */
export class A2aClient {
  private readonly codec: A2aClientCodec;
  private calls = 0;

  constructor(
    private readonly http: PinnedHttpClient,
    readonly card: UpstreamCard,
    /** The chosen interface of the card, with an absolute URL. */
    private readonly endpoint: UpstreamInterface,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly context: RequestContext = { extensions: [] },
  ) {
    this.codec = PROTOCOLS[endpoint.version].client;
  }

  /** Returns a client of the same agent whose requests belong to a context. */
  within(context: RequestContext): A2aClient {
    return new A2aClient(this.http, this.card, this.endpoint, this.headers, context);
  }

  /** Sends a message. The response can take as long as the work, unless the agent supports `returnImmediately`. */
  async send(message: OutgoingMessage, signal: AbortSignal): Promise<UpstreamUpdate> {
    const { codec } = this;
    const result = await this.call(codec.methods.send, codec.encodeSend(message), signal, WORK_TIMEOUT_MS);
    return decodeResponse(() => codec.decodeUpdate(result));
  }

  /** Sends a message and yields the updates of its task. The end of the stream is no outcome, because connections end. */
  stream(message: OutgoingMessage, signal: AbortSignal): AsyncGenerator<UpstreamEvent> {
    return this.events(this.codec.methods.stream, this.codec.encodeSend(message), signal, WORK_TIMEOUT_MS);
  }

  /** Yields the updates of a task, from its current state or after the event `lastEventId`. */
  subscribe(taskId: string, signal: AbortSignal, lastEventId?: string): AsyncGenerator<UpstreamEvent> {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    return this.events(this.codec.methods.subscribe, { id: taskId }, signal, RESPONSE_TIMEOUT_MS, headers);
  }

  /** Returns the task, with the ids of its newest `historyLength` messages. */
  async getTask(taskId: string, historyLength: number, signal: AbortSignal): Promise<UpstreamTaskSnapshot> {
    const result = await this.call(this.codec.methods.get, { id: taskId, historyLength }, signal);
    return decodeResponse(() => this.codec.decodeTask(result));
  }

  async cancelTask(taskId: string, signal: AbortSignal): Promise<UpstreamTaskSnapshot> {
    const result = await this.call(this.codec.methods.cancel, { id: taskId }, signal);
    return decodeResponse(() => this.codec.decodeTask(result));
  }

  /** Returns the newest tasks of a context, with the ids of their newest messages. Empty if the version has no such method. */
  async listTasks(contextId: string, signal: AbortSignal): Promise<UpstreamTaskSnapshot[]> {
    const { list } = this.codec.methods;
    if (list === undefined) return [];
    const params = { contextId, pageSize: LIST_PAGE_SIZE, historyLength: LIST_PAGE_SIZE };
    const result = await this.call(list, params, signal);
    return decodeResponse(() => this.codec.decodeTasks(result));
  }

  private async call(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    responseTimeoutMs = RESPONSE_TIMEOUT_MS,
  ): Promise<Json> {
    try {
      const response = await this.request(method, params, signal, responseTimeoutMs);
      return resultOf(response.status, await response.bytes(MAX_RESPONSE_SIZE));
    } catch (error) {
      throw toClientFailure(error);
    }
  }

  private async *events(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    responseTimeoutMs: number,
    headers: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<UpstreamEvent> {
    try {
      const response = await this.request(method, params, signal, responseTimeoutMs, headers);
      const { status } = response;
      if (status !== 200 || !/^text\/event-stream\b/i.test(response.headers['content-type'] ?? '')) {
        yield this.eventOf(resultOf(status, await response.bytes(MAX_RESPONSE_SIZE)));
        return;
      }
      for await (const { data, id } of parseSseEvents(response.chunks(), MAX_RESPONSE_SIZE)) {
        yield this.eventOf(resultOf(status, Buffer.from(data)), id);
      }
    } catch (error) {
      throw toClientFailure(error);
    }
  }

  private eventOf(result: Json, id = ''): UpstreamEvent {
    const update = decodeResponse(() => this.codec.decodeUpdate(result));
    // The id is sent back in a header, so its characters are limited.
    return /^[\x21-\x7e]{1,256}$/.test(id) ? { update, id } : { update };
  }

  private request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    responseTimeoutMs: number,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpResponse> {
    const { url, tenant, version } = this.endpoint;
    this.calls += 1;
    const call = {
      jsonrpc: '2.0',
      id: this.calls,
      method,
      params: tenant === undefined ? params : { ...params, tenant },
    };
    return this.http.request(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        [VERSION_HEADER]: version,
        ...this.headers,
        ...this.contextHeaders(),
        ...headers,
      },
      body: Buffer.from(JSON.stringify(call)),
      responseTimeoutMs,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      signal,
    });
  }

  private contextHeaders(): Record<string, string> {
    const { extensions, trace } = this.context;
    const required = this.card.extensions.filter((extension) => extension.required).map(({ uri }) => uri);
    const named = [...new Set([...required, ...extensions])];
    return {
      ...(named.length === 0 ? {} : { [this.codec.extensionsHeader]: named.join(', ') }),
      ...traceHeaders(trace),
    };
  }
}

/** Returns the result of a JSON-RPC response. */
function resultOf(status: number, body: Buffer): Json {
  const failed = `the agent responded with status ${status}`;
  // The body does not matter: the agent, or a proxy in front of it, cannot respond now.
  if (status === 429 || status >= 500) throw new ClientFailure('unreachable', failed, status);
  let response: Json;
  try {
    response = parseJson(body);
  } catch {
    if (status >= 400) throw new ClientFailure('rejected', failed, status);
    throw new ClientFailure('invalid', 'the response is not JSON');
  }
  const { error, result } = isObject(response) ? response : {};
  if (isObject(error)) {
    const { message } = error;
    const code = Number(error['code']);
    const text = typeof message === 'string' && message !== '' ? `: ${message.slice(0, MAX_ERROR_TEXT_LENGTH)}` : '';
    throw new ClientFailure('rejected', `the agent responded with error ${code}${text}`, code);
  }
  if (status >= 400) throw new ClientFailure('rejected', failed, status);
  if (result === undefined) throw new ClientFailure('invalid', 'the response is not a JSON-RPC response');
  return result;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
