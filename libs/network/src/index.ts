export * from './address-rules.js';
export * from './listen-address.js';
export * from './target-addresses.js';
export * from './target-rules.js';
