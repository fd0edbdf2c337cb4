import { BOUNDS, type JsonObject, type TaskStatus } from '@app/domain';
import { IsIn } from 'class-validator';
import {
  INT32_MAX,
  IsHistoryLength,
  IsIntegerBetween,
  IsPageToken,
  IsTimestamp,
  Optional,
  OptionalId,
  paramsOf,
} from '../validation/params.js';

const DEFAULT_LIMIT = 100;
const STATUSES: readonly TaskStatus[] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'rejected',
  'canceled',
  'replied',
];

/** `?after=&limit=` of every list below a task. */
class PageParams {
  @Optional() @IsIntegerBetween(0, INT32_MAX) after?: number;
  @Optional() @IsIntegerBetween(1, 1_000) limit?: number;
}

class ListTasksParams {
  @OptionalId() contextId?: string;
  @Optional() @IsIn(STATUSES, { message: `must be one of ${STATUSES.join(', ')}` }) status?: (typeof STATUSES)[number];
  @Optional() @IsIntegerBetween(1, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsTimestamp() statusTimestampAfter?: string;
}

type QueryString = Readonly<Record<string, unknown>>;

const pageParams = paramsOf(PageParams, 'camel');
const listParams = paramsOf(ListTasksParams, 'camel');

/** The page that a query string asks for; by default the first 100. Errors: InvalidParameters. */
export function decodePage(query: QueryString): { after: number; limit: number } {
  const { after = 0, limit = DEFAULT_LIMIT } = pageParams(numbersIn(query, ['after', 'limit']));
  return { after, limit };
}

/** Filters and page of `GET /api/tasks`. Errors: InvalidParameters. */
export const decodeListTasks = (query: QueryString) => listParams(numbersIn(query, ['pageSize', 'historyLength']));

/** A query string has text only; what is no number stays text, for the validator to refuse. */
function numbersIn(query: QueryString, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const isNumber = names.includes(name) && typeof value === 'string' && /^-?\d{1,10}$/.test(value);
      return [name, (isNumber ? Number(value) : value) as JsonObject[string]];
    }),
  );
}

export const encodePage = (
  name: string,
  { items, nextAfter }: { readonly items: readonly unknown[]; readonly nextAfter: number | null },
): JsonObject => ({ [name]: items as JsonObject[], nextAfter });
