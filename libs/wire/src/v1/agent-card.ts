import type { JsonObject } from '@app/domain';
import { encodeExtension, encodeSkill, type CardDescription } from '../card-description.js';
import { signaturesOf } from './card-signature.js';

/** The agent card of A2A v1.0 (section 4.4.1). It lists every interface, of every version, in order of preference. */
export function encodeCard(card: CardDescription): JsonObject {
  const encoded = withoutSignatures(card);
  return card.signer === undefined ? encoded : { ...encoded, signatures: signaturesOf(encoded, card.signer) };
}

function withoutSignatures(card: CardDescription): JsonObject {
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
    ...(card.documentationUrl === undefined ? {} : { documentationUrl: card.documentationUrl }),
    capabilities: {
      streaming,
      pushNotifications,
      ...(card.extensions?.length ? { extensions: card.extensions.map(encodeExtension) } : {}),
      extendedAgentCard,
    },
    ...(card.authentication === 'none'
      ? {}
      : {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
          securityRequirements: [{ schemes: { bearer: {} } }],
        }),
    defaultInputModes: [...card.inputModes],
    defaultOutputModes: [...card.outputModes],
    skills: card.skills.map(encodeSkill),
    ...(card.iconUrl === undefined ? {} : { iconUrl: card.iconUrl }),
  };
}
