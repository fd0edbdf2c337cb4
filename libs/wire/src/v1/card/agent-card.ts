import type { JsonObject } from '@app/domain';
import { type CardDescription, encodeExtension, encodeSkill } from '../../card-description.js';
import { signCard } from './card-signature.js';

/** Encodes the agent card of A2A v1.0 (section 4.4.1). It lists the interfaces of all versions, in order of preference. */
export function encodeCard(card: CardDescription): JsonObject {
  const unsigned = encodeUnsigned(card);
  return card.signer === undefined ? unsigned : { ...unsigned, signatures: signCard(unsigned, card.signer) };
}

function encodeUnsigned(card: CardDescription): JsonObject {
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
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
          securityRequirements: [{ schemes: { bearer: {} } }],
        }),
    defaultInputModes: [...card.inputModes],
    defaultOutputModes: [...card.outputModes],
    skills: card.skills.map(encodeSkill),
  };
}
