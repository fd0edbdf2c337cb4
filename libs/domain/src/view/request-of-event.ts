import type { MessageRequest } from '../message-request.js';
import type { RecordedEvent } from './task.view.js';

/** Returns the request that brought the message of an event. Undefined for an event without a message of a client. */
export function requestOfEvent(event: RecordedEvent): MessageRequest | undefined {
  if (event.type !== 'MessageAccepted' || event.newerSchema) return undefined;
  const { configuration, extensions = [], addressClass } = event.facts.request;
  const { metadata = {}, clientName } = event.content?.request ?? {};
  const { protocolVersion, trace } = event;
  return {
    metadata,
    configuration: { ...configuration, acceptedOutputModes: configuration.acceptedOutputModes ?? [] },
    extensions,
    ...(protocolVersion === undefined ? {} : { protocolVersion }),
    ...(trace === undefined ? {} : { trace }),
    client: {
      ...(clientName === undefined ? {} : { name: clientName }),
      ...(addressClass === undefined ? {} : { addressClass }),
    },
  };
}
