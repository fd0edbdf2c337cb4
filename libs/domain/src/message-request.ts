import type { JsonObject, RequestContent } from './content.js';
import type { TraceContext } from './trace-context.js';

/** Where a request came from: the same machine, a network that is not public, or the internet. */
export type AddressClass = 'loopback' | 'private' | 'public';

/** The configuration of a send (A2A section 3.2.2), without its webhook. */
export interface RequestConfiguration {
  /** Media types of the response, as the client wrote them. Absent: any. */
  readonly acceptedOutputModes?: readonly string[];
  readonly returnImmediately: boolean;
  /** Upper bound of the messages in the response. Absent: no bound. */
  readonly historyLength?: number;
}

/** The part of a request that is recorded as facts. */
export interface RequestFacts {
  readonly configuration: RequestConfiguration;
  /** URIs of the A2A extensions that the client named. Absent: none. */
  readonly extensions?: readonly string[];
  /** Absent for a request without a network, such as one of the command line. */
  readonly addressClass?: AddressClass;
}

/** What a send contains besides its message, as a surface received it. */
export type SendRecord = RequestFacts & RequestContent;

/** The request that brought a message, as agents receive it. It is complete unless the content of the task was erased. */
export interface MessageRequest {
  /** The metadata of the request, not of its message. Empty: none. */
  readonly metadata: JsonObject;
  /** An empty list of `acceptedOutputModes` accepts every media type. */
  readonly configuration: RequestConfiguration & { readonly acceptedOutputModes: readonly string[] };
  /** URIs of the A2A extensions that the client named. */
  readonly extensions: readonly string[];
  /** The A2A version of the request. Absent: the request was not an A2A request. */
  readonly protocolVersion?: string;
  /** The W3C trace context of the request. */
  readonly trace?: TraceContext;
  readonly client: { readonly name?: string; readonly addressClass?: AddressClass };
}
