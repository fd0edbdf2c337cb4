export type { A2aClient } from './a2a-client.js';
export { ClientFailure } from './client-failure.js';
export { connect } from './connect.js';
export { parseSseEvents, type SseEvent } from './sse-events.js';
export type { OutgoingMessage, UpstreamIds, UpstreamStatus, UpstreamTaskSnapshot, UpstreamUpdate } from '@app/wire';
