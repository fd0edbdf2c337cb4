/** JSON whose shape the demo checks at run time. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** The response of an HTTP request. */
export interface DemoResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed if it is JSON, otherwise text. */
  readonly body: Json;
}

const TIMEOUT_MS = 30_000;

/** A minimal client of every API, which needs only an address, a token and `fetch`. */
export class DemoClient {
  constructor(
    readonly url: string,
    private readonly token: string,
  ) {}

  /** Returns the result of a JSON-RPC call, or `{ error }`. */
  async rpc(version: '1.0' | '0.3', method: string, params: object): Promise<Json> {
    const { body } = await this.http('POST', '/a2a', {
      headers: { 'A2A-Version': version },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
    return body.error === undefined ? body.result : { error: body.error };
  }

  /** Returns the results of a streaming JSON-RPC call after the server has closed it. */
  async stream(version: '1.0' | '0.3', method: string, params: object): Promise<Json[]> {
    const { body } = await this.http('POST', '/a2a', {
      headers: { 'A2A-Version': version },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
    return parseSse(body).map((event) => event.result);
  }

  /** Returns the events of an SSE stream after the server has closed it. */
  async events(path: string): Promise<Json[]> {
    return parseSse((await this.http('GET', path)).body);
  }

  async http(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<DemoResponse> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  }
}

function parseSse(text: unknown): Json[] {
  if (typeof text !== 'string') throw new Error(`the response is not a stream: ${JSON.stringify(text)}`);
  return text
    .split('\n\n')
    .map((frame) => frame.split('\n').filter((line) => line.startsWith('data: ')))
    .filter((lines) => lines.length > 0)
    .map((lines) => JSON.parse(lines.map((line) => line.slice('data: '.length)).join('\n')) as Json);
}
