/** JSON of a server whose shapes the demo is there to check. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = any;

/** What an HTTP call came back with. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed when it is JSON. */
  readonly body: Answer;
}

const TIMEOUT_MS = 30_000;

/** What a client of any surface needs: an address and a token, and nothing but `fetch`. */
export class DemoClient {
  constructor(
    readonly url: string,
    private readonly token: string,
  ) {}

  /** The result of a JSON-RPC call, or `{ error }`. */
  async rpc(version: '1.0' | '0.3', method: string, params: object): Promise<Answer> {
    const { body } = await this.http('POST', '/a2a', {
      headers: { 'A2A-Version': version },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
    return body.error === undefined ? body.result : { error: body.error };
  }

  /** The results of a streaming JSON-RPC call, until the server ends it. */
  async stream(version: '1.0' | '0.3', method: string, params: object): Promise<Answer[]> {
    const { body } = await this.http('POST', '/a2a', {
      headers: { 'A2A-Version': version },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
    return framesOf(body).map((frame) => frame.result);
  }

  /** What an SSE stream says until the server ends it. */
  async events(path: string): Promise<Answer[]> {
    return framesOf((await this.http('GET', path)).body);
  }

  async http(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<HttpAnswer> {
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

function framesOf(text: unknown): Answer[] {
  if (typeof text !== 'string') throw new Error(`no stream came back, but ${JSON.stringify(text)}`);
  return text
    .split('\n\n')
    .map((frame) => frame.split('\n').filter((line) => line.startsWith('data: ')))
    .filter((lines) => lines.length > 0)
    .map((lines) => JSON.parse(lines.map((line) => line.slice('data: '.length)).join('\n')) as Answer);
}
