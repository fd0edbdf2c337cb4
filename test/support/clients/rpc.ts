import { randomUUID } from 'node:crypto';
import type { Json, JsonObject } from '@app/domain';

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RpcResponse extends HttpResponse {
  readonly body: { jsonrpc: string; id: Json; result?: Json; error?: { code: number; message: string; data?: Json } };
}

/** Sends one request with a bearer token. The response body is returned as text. */
export async function http(
  method: string,
  url: string,
  token: string | null,
  options: { headers?: Record<string, string>; body?: string | Uint8Array; signal?: AbortSignal } = {},
): Promise<HttpResponse> {
  const { body, headers, signal } = options;
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Sends one JSON-RPC call. `version` is the `A2A-Version` header; null sends none. */
export async function call(
  url: string,
  token: string | null,
  version: string | null,
  method: string,
  params?: JsonObject,
  signal?: AbortSignal,
): Promise<RpcResponse> {
  const response = await http('POST', `${url}/a2a`, token, {
    headers: version === null ? {} : { 'A2A-Version': version },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...response, body: JSON.parse(response.text) as RpcResponse['body'] };
}

/** A task as v1.0 encodes it. v0.3 has the same fields, with a `kind` and other names of the states. */
export interface WireTask {
  kind?: string;
  id: string;
  contextId: string;
  status: { state: string; timestamp: string; message?: { parts: { text?: string }[] } };
  artifacts?: { artifactId: string; parts: { text?: string }[] }[];
  history?: { messageId: string; role: string; parts: { text?: string }[] }[];
  metadata?: JsonObject;
}

export interface WirePage {
  tasks: WireTask[];
  totalSize: number;
  pageSize: number;
  nextPageToken: string;
}

/** A caller of v1.0. Each method returns the result and throws the error's text when there is none. */
export class V1Caller {
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  call(method: string, params: JsonObject, signal?: AbortSignal): Promise<RpcResponse> {
    return call(this.url, this.token, '1.0', method, params, signal);
  }

  /** Sends a text and waits for the outcome, unless `configuration` sets `returnImmediately`. */
  async send(text: string, more: SendOptions = {}): Promise<WireTask> {
    return (await this.result<{ task: WireTask }>('SendMessage', sendParams(text, more))).task;
  }

  /** Sends a text without waiting for the outcome. */
  start(text: string, message: JsonObject = {}): Promise<WireTask> {
    return this.send(text, { message, configuration: { returnImmediately: true } });
  }

  get(id: string): Promise<WireTask> {
    return this.result('GetTask', { id });
  }

  /** Polls until a task has a state, such as `TASK_STATE_WORKING`. Throws after 60 s. */
  untilState(id: string, state: string): Promise<WireTask> {
    return eventually(
      () => this.get(id),
      ({ status }) => status.state === state,
    );
  }

  cancel(id: string): Promise<WireTask> {
    return this.result('CancelTask', { id });
  }

  list(params: JsonObject = {}): Promise<WirePage> {
    return this.result('ListTasks', params);
  }

  private async result<T>(method: string, params: JsonObject): Promise<T> {
    const { body, text } = await this.call(method, params);
    if (body.result === undefined) throw new Error(`${method}: ${text}`);
    return body.result as T;
  }
}

export interface SendOptions {
  readonly message?: JsonObject;
  readonly metadata?: JsonObject;
  readonly configuration?: JsonObject;
}

/** Returns the params of a send in v1.0, for both bindings. */
export function sendParams(text: string, { message, ...rest }: SendOptions = {}): JsonObject {
  return { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message }, ...rest };
}

/** Returns the params of a send in the JSON-RPC binding of v0.3. */
export function sendParamsV03(text: string, { message, ...rest }: SendOptions = {}): JsonObject {
  const parts = [{ kind: 'text', text }];
  return { message: { kind: 'message', messageId: randomUUID(), role: 'user', parts, ...message }, ...rest };
}

/** Returns the body of a send in the HTTP+JSON binding of v0.3, which encodes its messages as ProtoJSON. */
export function httpSendParamsV03(text: string, { message, ...rest }: SendOptions = {}): JsonObject {
  return { message: { messageId: randomUUID(), role: 'ROLE_USER', content: [{ text }], ...message }, ...rest };
}

/** Polls until the value satisfies the condition, for state that no stream announces. Throws after 60 s. */
export async function eventually<T>(read: () => Promise<T>, satisfies: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const value = await read();
    if (satisfies(value)) return value;
    if (Date.now() > deadline) throw new Error(`the condition is not met after 60 s: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
