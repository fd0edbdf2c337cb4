import type { KeyObject } from 'node:crypto';
import type { JsonObject } from '@app/domain';
import type { ProtocolVersion } from './transport/version.js';

export interface CardSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

export interface CardExtension {
  readonly uri: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly params?: JsonObject;
}

export type CardBinding = 'JSONRPC' | 'HTTP+JSON';

/** One place where the agent can be reached, in one version. */
export interface CardInterface {
  readonly url: string;
  readonly binding: CardBinding;
  readonly version: ProtocolVersion;
}

/** What an agent card says, before any version's shape. Nothing in it names a caller. */
export interface CardDescription {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly CardSkill[];
  /** Media types. */
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  /** In order of preference; `interfacesAt` gives the usual ones. */
  readonly interfaces: readonly CardInterface[];
  readonly capabilities: {
    readonly streaming: boolean;
    readonly pushNotifications: boolean;
    readonly extendedAgentCard: boolean;
  };
  /** `none` is for a server that asks for no credential. */
  readonly authentication: 'bearer' | 'none';
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly extensions?: readonly CardExtension[];
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  /** Present when cards of the versions that can be signed are. */
  readonly signer?: CardSigner;
}

/** What cards are signed with (Ed25519), and where its public half can be found. */
export interface CardSigner {
  readonly privateKey: KeyObject;
  readonly keyId: string;
  /** Of the JWK set. */
  readonly keysUrl: string;
}

/** Clients of 1.0 put `/message:send` behind the address of HTTP+JSON, clients of 0.3 `/v1/message:send`. */
const PATHS: Record<ProtocolVersion, Record<CardBinding, string>> = {
  '1.0': { JSONRPC: '/a2a', 'HTTP+JSON': '/a2a/v1' },
  '0.3': { JSONRPC: '/a2a', 'HTTP+JSON': '/a2a' },
};

/** The interfaces of a server at `publicUrl` that serves these bindings: each in 1.0 first, then each in 0.3. */
export function cardInterfaces(publicUrl: string, bindings: readonly CardBinding[]): CardInterface[] {
  const root = publicUrl.replace(/\/+$/, '');
  return (['1.0', '0.3'] as const).flatMap((version) =>
    bindings.map((binding) => ({ url: `${root}${PATHS[version][binding]}`, binding, version })),
  );
}

/** An `AgentExtension`, the same in both versions. */
export const encodeExtension = ({ uri, description, required, params }: CardExtension): JsonObject => ({
  uri,
  ...(description === undefined ? {} : { description }),
  ...(required === undefined ? {} : { required }),
  ...(params === undefined ? {} : { params }),
});

/** An `AgentSkill`, the same in both versions. */
export const encodeSkill = ({
  id,
  name,
  description,
  tags,
  examples,
  inputModes,
  outputModes,
}: CardSkill): JsonObject => ({
  id,
  name,
  description,
  tags: [...tags],
  ...(examples?.length ? { examples: [...examples] } : {}),
  ...(inputModes?.length ? { inputModes: [...inputModes] } : {}),
  ...(outputModes?.length ? { outputModes: [...outputModes] } : {}),
});
