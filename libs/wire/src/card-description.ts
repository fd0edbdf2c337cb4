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

/** One address of the agent, with its binding and version. */
export interface CardInterface {
  readonly url: string;
  readonly binding: CardBinding;
  readonly version: ProtocolVersion;
}

/** The content of an agent card, which each version encodes in its own shape. It does not name a caller. */
export interface CardDescription {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly CardSkill[];
  /** Media types. */
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  /** In order of preference; `cardInterfaces` returns those of this server. */
  readonly interfaces: readonly CardInterface[];
  readonly capabilities: {
    readonly streaming: boolean;
    readonly pushNotifications: boolean;
    readonly extendedAgentCard: boolean;
  };
  /** `none`: the server requires no credential. */
  readonly authentication: 'bearer' | 'none';
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly extensions?: readonly CardExtension[];
  /** Present if the server signs its cards. Only versions that define signatures use it. */
  readonly signer?: CardSigner;
}

/** The Ed25519 key that signs cards, and the address of its public key. */
export interface CardSigner {
  readonly privateKey: KeyObject;
  readonly keyId: string;
  /** Address of the JWK set. */
  readonly keysUrl: string;
}

/** Encodes an `AgentExtension`, which is the same in both versions. ProtoJSON omits `required` if it is false. */
export const encodeExtension = ({ uri, description, required, params }: CardExtension): JsonObject => ({
  uri,
  ...(description === undefined ? {} : { description }),
  ...(required === true ? { required } : {}),
  ...(params === undefined ? {} : { params }),
});

/** Encodes an `AgentSkill`, which is the same in both versions. */
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
