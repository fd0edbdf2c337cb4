export * from './a2a-client.js';
export * from './client-failure.js';
export * from './connect.js';
export type { RemoteCard, RemoteIds, RemoteStatus, RemoteTask, RemoteUpdate } from '@app/wire';
