export { type ChainBreak, ChainVerifier } from './chain-verifier.js';
export { countEvents, type StreamBreak, type StreamScope, type VerifiedPage, verifyChains } from './verify-chains.js';
