import { type AgentProfile, BOUNDS, type JsonObject, type Principal } from '@app/domain';
import { ServerSecret } from '@app/storage';
import { AgentDirectory } from '@app/tasks';
import {
  type CardBinding,
  type CardDescription,
  type CardExtension,
  cardInterfaces,
  encodeCompatibleCard,
  type ProtocolVersion,
} from '@app/wire';
import { Injectable } from '@nestjs/common';
import { codecFor } from '../edge/http/codecs.js';
import { KEY_SET_PATH } from './key-set.controller.js';

/** The A2A bindings of this server, in order of preference. */
export const A2A_BINDINGS: readonly CardBinding[] = ['JSONRPC', 'HTTP+JSON'];

export abstract class CardOptions {
  /** With `PORT=0` it is known only when the server listens. */
  abstract readonly publicUrl: () => string;
  /** The form of the public card for a request that names no version. */
  abstract readonly defaultForm: 'compatible' | ProtocolVersion;
  abstract readonly authentication: CardDescription['authentication'];
  abstract readonly capabilities: ReadonlySet<keyof CardDescription['capabilities']>;
}

/** The content of the agent cards, before a codec encodes them for one version. */
@Injectable()
export class AgentCards {
  constructor(
    private readonly agents: AgentDirectory,
    private readonly secret: ServerSecret,
    private readonly options: CardOptions,
  ) {}

  /** Encodes the public card of an agent in a version, or in the default form. */
  encode(agent: string | undefined, version: ProtocolVersion | undefined): JsonObject {
    const form = version ?? this.options.defaultForm;
    const card = this.describe(agent);
    return form === 'compatible' ? encodeCompatibleCard(card) : codecFor(form).encodeCard(card);
  }

  /** Returns the A2A extensions that a request to an agent may activate. */
  extensionsOf(agent: string | undefined): readonly CardExtension[] {
    return this.profileOf(agent).extensions;
  }

  /** Whether a capability is configured. */
  offers(capability: keyof CardDescription['capabilities']): boolean {
    return this.options.capabilities.has(capability);
  }

  /** Returns the public card of an agent, or of the default agent. It contains nothing about the caller. */
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
      interfaces: cardInterfaces(agentUrl, A2A_BINDINGS),
      capabilities: {
        streaming: this.offers('streaming'),
        pushNotifications: this.offers('pushNotifications'),
        extendedAgentCard: this.offers('extendedAgentCard'),
      },
      authentication: this.options.authentication,
      signer: { privateKey, keyId, keysUrl: `${publicUrl}${KEY_SET_PATH}` },
    };
  }

  /** Returns the extended card for one caller, with its rings and the limits. */
  describeFor({ rings }: Principal, agent?: string): CardDescription {
    const card = this.describe(agent);
    const extended: CardExtension[] = [
      {
        uri: 'urn:acta:rings',
        description: 'The rings of the caller, in order; the first is the ring of new tasks',
        params: { rings: [...rings] },
      },
      { uri: 'urn:acta:limits', description: 'The limits of this server; sizes are bytes of JSON', params: LIMITS },
    ];
    return { ...card, extensions: [...(card.extensions ?? []), ...extended] };
  }

  private profileOf(agent: string | undefined): AgentProfile {
    return (agent === undefined ? undefined : this.agents.find(agent)) ?? this.agents.defaultAgent;
  }
}

const LIMITS: JsonObject = { ...BOUNDS };
