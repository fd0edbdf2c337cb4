export { ChainVerifier } from './chain-verifier.js';
export { countEvents, type StreamBreak, verifyChains } from './verify-chains.js';
