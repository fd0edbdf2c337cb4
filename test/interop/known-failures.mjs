/**
 * Cases that fail because of an SDK. A case that fails and is not listed fails the suite, and so does a listed case that passes.
 *
 * @typedef {object} KnownFailure
 * @property {string} sdk
 * @property {string} binding
 * @property {string[]} cases
 * @property {string} reason
 * @property {string} evidence where the SDK shows it
 */

/** @type {readonly KnownFailure[]} */
export const KNOWN_FAILURES = [
  {
    sdk: 'go-1.0',
    binding: 'JSONRPC, HTTP+JSON',
    cases: ['extended-card'],
    reason:
      'With authentication, the SDK cannot decode `securityRequirements`: it expects a list for each scheme, and ProtoJSON of the specification has an object (`StringList`).',
    evidence:
      '`a2a/auth.go`: `SecurityRequirements` is a `map[SecuritySchemeName]SecuritySchemeScopes`, and the latter a `[]string`, also at commit 8363365, after 2.3.1',
  },
  {
    sdk: 'java-1.0',
    binding: 'JSONRPC, HTTP+JSON',
    cases: ['card'],
    reason:
      'Without `A2A-Version`, the SDK gets the card of both versions, and its parser rejects fields that its proto does not have. With the header, or with `ACTA_CARD_VERSION=1.0`, it gets the card of 1.0.',
    evidence:
      '`A2ACardResolver.getAgentCard` parses with `JSONRPCUtils.parseJsonString`, which does not ignore unknown fields',
  },
  {
    sdk: 'java-1.0',
    binding: 'JSONRPC, HTTP+JSON',
    cases: ['push'],
    reason:
      'The SDK sends the request of a draft of A2A 1.0, with the configuration in `config`. In A2A 1.0, its fields are in the request.',
    evidence:
      '`TaskPushNotificationConfig` is a record of `taskId`, `config` and `tenant`; Acta responds that `url` is required',
  },
  {
    sdk: 'java-1.0',
    binding: 'HTTP+JSON',
    cases: ['extended-card'],
    reason: 'The SDK decodes an interface without a tenant as one whose tenant is null, which it does not allow.',
    evidence:
      '`AgentInterface` throws "Parameter \'tenant\' may not be null"; the public card is decoded by a different parser',
  },
  {
    sdk: 'java-1.0',
    binding: 'HTTP+JSON',
    cases: ['extended-card-error', 'send-error', 'get-error', 'list-error', 'cancel-error', 'push-error'],
    reason:
      'The SDK expects the name of a Java class in `error`, and throws an exception of its JSON parser. In A2A 1.0 (section 11.6), `error` is an object.',
    evidence:
      '`RestErrorMapper.mapRestError` calls `getAsString` on the object: "UnsupportedOperationException: JsonObject"',
  },
  {
    sdk: 'java-0.3',
    binding: 'HTTP+JSON',
    cases: ['extended-card', 'extended-card-error'],
    reason: 'The SDK never requests the extended card, if the client was created from a card.',
    evidence: '`RestTransport.getAgentCard` returns the given card, because `needsExtendedCard` stays false',
  },
];

/**
 * Returns the failures that are not known, and the known failures that passed.
 *
 * @param {readonly import('./report.mjs').Result[]} results
 */
export function compareWithKnown(results) {
  const isKnown = (/** @type {import('./report.mjs').Result} */ { sdk, binding, name }) =>
    KNOWN_FAILURES.some((known) => known.sdk === sdk && known.binding.includes(binding) && known.cases.includes(name));
  const failed = results.filter(({ passed }) => !passed);
  const stale = KNOWN_FAILURES.flatMap(({ sdk, binding, cases }) =>
    binding.split(', ').flatMap((one) => cases.map((name) => ({ sdk, binding: one, name }))),
  ).filter(
    ({ sdk, binding, name }) =>
      results.some((result) => result.sdk === sdk) &&
      !failed.some((result) => result.sdk === sdk && result.binding === binding && result.name === name),
  );
  return [
    ...failed
      .filter((result) => !isKnown(result))
      .map(({ sdk, binding, server, name, error }) => `${sdk} ${binding} ${server}: ${name} failed: ${error}`),
    ...stale.map(({ sdk, binding, name }) => `${sdk} ${binding}: ${name} is in known-failures.mjs and passed`),
  ];
}
