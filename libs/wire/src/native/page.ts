import { BOUNDS, type JsonObject, TASK_STATUSES, type TaskStatus } from '@app/domain';
import { type HttpQuery, paramsOfQuery } from '../transport/http-query.js';
import {
  INT32_MAX,
  IsHistoryLength,
  IsIntegerBetween,
  IsOneOf,
  IsPageToken,
  IsTimestamp,
  Optional,
  OptionalId,
} from '../validation/param-rules.js';
import { paramsOf } from '../validation/params.js';
import { parseTimestamp } from '../validation/timestamp.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** `?after=&limit=` of the lists below a task. */
class PageParams {
  @Optional() @IsIntegerBetween(0, INT32_MAX) after?: number;
  @Optional() @IsIntegerBetween(1, MAX_LIMIT) limit?: number;
}

class ListTasksParams {
  @OptionalId() contextId?: string;
  @Optional() @IsOneOf(TASK_STATUSES) status?: TaskStatus;
  @Optional() @IsIntegerBetween(1, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
  @IsHistoryLength() historyLength?: number;
  @OptionalId() owner?: string;
  @OptionalId() agent?: string;
  @OptionalId() ring?: string;
  @Optional() @IsTimestamp() since?: string;
  @Optional() @IsTimestamp() until?: string;
}

/** A path without parameters. */
class NoParams {}

class AuditLogParams {
  @Optional() @IsTimestamp() since?: string;
  @Optional() @IsTimestamp() until?: string;
  @OptionalId() actor?: string;
  @OptionalId() type?: string;
  @OptionalId() taskId?: string;
  @OptionalId() after?: string;
  @Optional() @IsIntegerBetween(1, MAX_LIMIT) limit?: number;
}

/** A parameter that has no effect would return a different result than its client expects. */
const UNKNOWN = { unknown: 'rejected' } as const;
const pageParams = paramsOf(PageParams, 'camel', UNKNOWN);
const auditLogParams = paramsOf(AuditLogParams, 'camel', UNKNOWN);
const noParams = paramsOf(NoParams, 'camel', UNKNOWN);
const listParams = paramsOf(ListTasksParams, 'camel', UNKNOWN);

/** Decodes the page of a list below a task; the first 100 items by default. Errors: InvalidParameters. */
export function decodePage(query: HttpQuery): { after: number; limit: number } {
  const { after = 0, limit = DEFAULT_LIMIT } = pageParams(paramsOfQuery(query, { integers: ['after', 'limit'] }));
  return { after, limit };
}

/**
 * Decodes the filters and the page of `GET /api/tasks`. `since` (included) and `until` (excluded) limit the time of the status.
 * Errors: InvalidParameters.
 */
export function decodeListTasks(query: HttpQuery) {
  const { since, until, ...request } = listParams(paramsOfQuery(query, { integers: ['pageSize', 'historyLength'] }));
  return { ...request, statusTimestampAfter: utcOf(since), statusTimestampBefore: utcOf(until) };
}

/** Rejects every query parameter, for a path without parameters. Errors: InvalidParameters. */
export const requireNoParameters = (query: HttpQuery): void => void noParams(paramsOfQuery(query, { integers: [] }));

/** Decodes the filters and the page of `GET /api/audit/log`; the newest 100 entries by default. Errors: InvalidParameters. */
export function decodeAuditLog(query: HttpQuery): AuditLogParams & { readonly limit: number } {
  const { limit = DEFAULT_LIMIT, ...filter } = auditLogParams(paramsOfQuery(query, { integers: ['limit'] }));
  return { ...filter, since: utcOf(filter.since), until: utcOf(filter.until), limit };
}

const utcOf = (timestamp: string | undefined) => (timestamp === undefined ? undefined : parseTimestamp(timestamp));

/** Encodes a page as `{<name>: items, nextAfter}`. `nextAfter` is null on the last page. */
export const encodePage = (
  name: string,
  { items, nextAfter }: { readonly items: readonly unknown[]; readonly nextAfter: number | string | null },
): JsonObject => ({ [name]: items as JsonObject[], nextAfter });
