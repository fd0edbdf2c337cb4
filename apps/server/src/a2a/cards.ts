import { AgentDirectory } from '@app/tasks';
import { type CardDescription, interfacesAt, type ProtocolVersion } from '@app/wire';

/** What the cards of this server say, before any version's shape. */
export class Cards {
  constructor(
    private readonly agents: AgentDirectory,
    private readonly options: {
      readonly publicUrl: () => string;
      readonly defaultVersion: ProtocolVersion;
      readonly authentication: CardDescription['authentication'];
    },
  ) {}

  get defaultVersion(): ProtocolVersion {
    return this.options.defaultVersion;
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
      interfaces: interfacesAt(this.options.publicUrl(), ['JSONRPC']),
      capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
      authentication: this.options.authentication,
    };
  }
}
