import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '@app/domain';

interface RecordedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly method: string; readonly params: JsonObject };
}

const CARD = {
  name: 'recorder',
  description: 'Records requests',
  version: '1.0.0',
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'application/json'],
  skills: [{ id: 'record', name: 'Record', description: 'records', tags: ['test'] }],
};

/** An upstream agent that records each request and responds to messages with a direct message. */
export class RecordingUpstream {
  readonly requests: RecordedRequest[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(version: '1.0' | '0.3'): Promise<RecordingUpstream> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const upstream = new RecordingUpstream(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const { url } = upstream;
    const card =
      version === '1.0'
        ? { ...CARD, supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
        : { ...CARD, url, protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' };
    server.on('request', (request, response) => {
      void (async () => {
        response.setHeader('Content-Type', 'application/json');
        if (request.method === 'GET') return response.end(JSON.stringify(card));
        const body = JSON.parse(await text(request)) as RecordedRequest['body'] & { id: number };
        upstream.requests.push({ headers: request.headers, body });
        const message = { messageId: 'reply', contextId: 'context', parts: [{ text: 'recorded' }] };
        const result =
          version === '1.0'
            ? { message: { ...message, role: 'ROLE_AGENT' } }
            : { ...message, kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'recorded' }] };
        return response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result }));
      })();
    });
    return upstream;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
