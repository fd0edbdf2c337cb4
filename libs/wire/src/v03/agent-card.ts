import type { JsonObject } from '@app/domain';
import { encodeExtension, encodeSkill, type CardDescription, type CardInterface } from '../card-description.js';

/**
 * The agent card of A2A v0.3 (section 5.5), with nothing of later versions in it. Its main address is the first interface that
 * speaks 0.3; a description without one is a bug.
 */
export function encodeCard(card: CardDescription): JsonObject {
  const interfaces = card.interfaces.filter(({ version }) => version === '0.3');
  const main = interfaces[0];
  if (main === undefined) throw new Error('no interface speaks A2A v0.3');
  const { streaming, pushNotifications, extendedAgentCard } = card.capabilities;
  return {
    protocolVersion: '0.3.0',
    name: card.name,
    description: card.description,
    url: main.url,
    preferredTransport: main.binding,
    // The main address is listed again, as section 5.6.1 advises, so that a client can choose from one list.
    additionalInterfaces: interfaces.map(encodeInterface),
    ...(card.provider === undefined ? {} : { provider: { ...card.provider } }),
    version: card.version,
    ...(card.documentationUrl === undefined ? {} : { documentationUrl: card.documentationUrl }),
    ...(card.iconUrl === undefined ? {} : { iconUrl: card.iconUrl }),
    capabilities: {
      streaming,
      pushNotifications,
      stateTransitionHistory: false,
      ...(card.extensions?.length ? { extensions: card.extensions.map(encodeExtension) } : {}),
    },
    ...(card.authentication === 'none'
      ? {}
      : { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, security: [{ bearer: [] }] }),
    defaultInputModes: [...card.inputModes],
    defaultOutputModes: [...card.outputModes],
    skills: card.skills.map(encodeSkill),
    supportsAuthenticatedExtendedCard: extendedAgentCard,
  };
}

const encodeInterface = ({ url, binding }: CardInterface): JsonObject => ({ url, transport: binding });
