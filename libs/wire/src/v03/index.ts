import type { A2aCodec } from '../codec.js';
import { encodeCard } from './agent-card.js';
import { httpError, rpcError } from './errors.js';
import { http } from './http-json/binding.js';
import { methods } from './methods.js';
import { encodeUpdate } from './task.codec.js';

export { client } from './client.codec.js';

/** The server side of A2A v0.3. */
export const codec: A2aCodec = {
  version: '0.3',
  methods,
  http,
  // Clients append `/v1/message:send` to the address of HTTP+JSON. One address has one binding (section 5.6.4).
  interfacePaths: { JSONRPC: '/a2a', 'HTTP+JSON': '/a2a/http-json' },
  subscriptionUntil: 'turn',
  // Section 9.5: "Task object is sent as JSON payload".
  webhook: { payload: 'task', mediaType: 'application/json' },
  encodeUpdate,
  encodeCard,
  rpcError,
  httpError,
};
