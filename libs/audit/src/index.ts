export { ChainVerifier } from './chain-verifier.js';
export { countEvents, type EventLogBreak, verifyChains } from './verify-chains.js';
