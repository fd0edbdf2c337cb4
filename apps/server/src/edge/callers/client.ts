import type { SendRecord } from '@app/domain';
import { addressClassOf } from '@app/network';
import { requestedExtensions } from '@app/wire';
import type { EdgeRequest } from './edge-request.js';

/** What the headers and the connection of a request tell about its client. */
export type Client = Pick<SendRecord, 'extensions' | 'addressClass' | 'clientName'>;

const MAX_NAME_LENGTH = 256;

/** Returns the client of a request. The address is that of the client, also behind a trusted proxy. */
export function clientOf({ headers, ip }: Pick<EdgeRequest, 'headers' | 'ip'>): Client {
  const extensions = requestedExtensions(headers);
  const clientName = clientNameOf(headers['user-agent']);
  return {
    ...(extensions.length === 0 ? {} : { extensions }),
    addressClass: addressClassOf(ip),
    ...(clientName === '' ? {} : { clientName }),
  };
}

/** Returns at most 256 printable characters of the header `User-Agent`. */
const clientNameOf = (userAgent = ''): string =>
  userAgent
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_LENGTH);
