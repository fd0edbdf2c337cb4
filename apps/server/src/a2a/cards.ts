import { AgentDirectory } from '@app/tasks';
import { type CardBinding, type CardDescription, interfacesAt, type ProtocolVersion } from '@app/wire';

/** How A2A is spoken here, in order of preference. */
export const A2A_BINDINGS: readonly CardBinding[] = ['JSONRPC', 'HTTP+JSON'];

/** What there is to be switched on. */
const BUILT: ReadonlySet<keyof CardDescription['capabilities']> = new Set(['streaming']);

/** What the cards of this server say, before any version's shape. */
export class Cards {
  constructor(
    private readonly agents: AgentDirectory,
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

  /** Whether the server does what a card may promise. */
  offers(capability: keyof CardDescription['capabilities']): boolean {
    return this.options.capabilities.has(capability) && BUILT.has(capability);
  }

  describe(): CardDescription {
    const { name, description, version, skills, inputModes, outputModes } = this.agents.defaultAgent;
    return {
      name,
      description,
      version,
      skills,
      inputModes,
      outputModes,
      interfaces: interfacesAt(this.options.publicUrl(), A2A_BINDINGS),
      capabilities: {
        streaming: this.offers('streaming'),
        pushNotifications: this.offers('pushNotifications'),
        extendedAgentCard: this.offers('extendedAgentCard'),
      },
      authentication: this.options.authentication,
    };
  }
}
