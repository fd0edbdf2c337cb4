import { type AgentProfile, BOUNDS, type JsonObject, type Principal } from '@app/domain';
import type { ServerSecret } from '@app/storage';
import { AgentDirectory } from '@app/tasks';
import {
  type CardBinding,
  type CardDescription,
  type CardExtension,
  interfacesAt,
  type ProtocolVersion,
} from '@app/wire';
import { KEY_SET_PATH } from './key-set.controller.js';

/** How A2A is spoken here, in order of preference. */
export const A2A_BINDINGS: readonly CardBinding[] = ['JSONRPC', 'HTTP+JSON'];

/** What the cards of this server say, before any version's shape. */
export class Cards {
  constructor(
    private readonly agents: AgentDirectory,
    private readonly secret: ServerSecret,
    private readonly options: {
      readonly publicUrl: () => string;
      readonly defaultVersion: ProtocolVersion;
      readonly authentication: CardDescription['authentication'];
      readonly capabilities: ReadonlySet<keyof CardDescription['capabilities']>;
    },
  ) {}

  get defaultVersion(): ProtocolVersion {
    return this.options.defaultVersion;
  }

  /** Extensions of A2A that a request may name. */
  extensionsOf(agent: string | undefined): readonly CardExtension[] {
    return this.profileOf(agent).extensions;
  }

  /** Whether the server does what a card may promise. */
  offers(capability: keyof CardDescription['capabilities']): boolean {
    return this.options.capabilities.has(capability);
  }

  /** The public card of an agent, or of the default one. Nothing in it names a caller. */
  describe(agent?: string): CardDescription {
    const { name, description, version, skills, inputModes, outputModes, extensions } = this.profileOf(agent);
    const publicUrl = this.options.publicUrl();
    const agentUrl = agent === undefined ? publicUrl : `${publicUrl}/agents/${agent}`;
    const { privateKey, keyId } = this.secret.signingKey('agent-card');
    return {
      name,
      description,
      version,
      skills,
      inputModes,
      outputModes,
      extensions,
      interfaces: interfacesAt(agentUrl, A2A_BINDINGS),
      capabilities: {
        streaming: this.offers('streaming'),
        pushNotifications: this.offers('pushNotifications'),
        extendedAgentCard: this.offers('extendedAgentCard'),
      },
      authentication: this.options.authentication,
      signer: { privateKey, keyId, keysUrl: `${publicUrl}${KEY_SET_PATH}` },
    };
  }

  /** The card for one caller: with its rings, and the limits in force. */
  describeFor({ rings }: Principal, agent?: string): CardDescription {
    const card = this.describe(agent);
    const own: CardExtension[] = [
      {
        uri: 'urn:acta:rings',
        description: 'Rings that you see, in order: the first is the ring of your new tasks',
        params: { rings: [...rings] },
      },
      { uri: 'urn:acta:limits', description: 'Limits in force; sizes are bytes of JSON', params: LIMITS },
    ];
    return { ...card, extensions: [...(card.extensions ?? []), ...own] };
  }

  private profileOf(agent: string | undefined): AgentProfile {
    return (agent === undefined ? undefined : this.agents.find(agent)) ?? this.agents.defaultAgent;
  }
}

const LIMITS: JsonObject = { ...BOUNDS };
