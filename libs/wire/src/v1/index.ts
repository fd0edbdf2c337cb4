import type { A2aCodec } from '../codec.js';
import { encodeCard } from './card/agent-card.js';
import { httpError, rpcError } from './errors.js';
import { http } from './http-json.js';
import { methods } from './methods.js';
import { encodeUpdate } from './task.codec.js';

export { client } from './client.codec.js';

/** The server side of A2A v1.0. */
export const codec: A2aCodec = {
  version: '1.0',
  methods,
  http,
  // Clients append `/message:send` to the address of HTTP+JSON.
  interfacePaths: { JSONRPC: '/a2a', 'HTTP+JSON': '/a2a/v1' },
  subscriptionUntil: 'end',
  // Section 4.3.3.
  webhook: { payload: 'update', mediaType: 'application/a2a+json' },
  encodeUpdate,
  encodeCard,
  rpcError,
  httpError,
};
