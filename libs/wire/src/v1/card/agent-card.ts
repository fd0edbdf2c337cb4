import type { JsonObject } from '@app/domain';
import { type CardDescription, encodeExtension, encodeSkill } from '../../card-description.js';
import { canonicalForm, canonicalFormOfSdks, signCard } from './card-signature.js';

/** Encodes the agent card of A2A v1.0 (section 4.4.1). It lists the interfaces of all versions, in order of preference. */
export function encodeCard(card: CardDescription): JsonObject {
  const unsigned = encodeUnsignedCard(card);
  if (card.signer === undefined) return unsigned;
  const payloads = [canonicalFormOfSdks(unsigned), canonicalForm(unsigned)];
  return { ...unsigned, signatures: signCard(payloads, card.signer) };
}

/** Encodes the agent card of A2A v1.0 without signatures. The names of HTTP authentication schemes are case-insensitive. */
export function encodeUnsignedCard(card: CardDescription, httpScheme = 'Bearer'): JsonObject {
  const { streaming, pushNotifications, extendedAgentCard } = card.capabilities;
  return {
    name: card.name,
    description: card.description,
    supportedInterfaces: card.interfaces.map(({ url, binding, version }) => ({
      url,
      protocolBinding: binding,
      protocolVersion: version,
    })),
    ...(card.provider === undefined ? {} : { provider: { ...card.provider } }),
    version: card.version,
    capabilities: {
      streaming,
      pushNotifications,
      ...(card.extensions?.length ? { extensions: card.extensions.map(encodeExtension) } : {}),
      extendedAgentCard,
    },
    ...(card.authentication === 'none'
      ? {}
      : {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: httpScheme } } },
          securityRequirements: [{ schemes: { bearer: {} } }],
        }),
    defaultInputModes: [...card.inputModes],
    defaultOutputModes: [...card.outputModes],
    skills: card.skills.map(encodeSkill),
  };
}
