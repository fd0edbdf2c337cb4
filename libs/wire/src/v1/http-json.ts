import type { JsonObject } from '@app/domain';
import { HttpBinding } from '../transport/http-binding.js';
import type { AnyMethod, Method } from '../requests.js';
import { methods } from './methods.js';
import { encodeUpdate } from './task.codec.js';

/** Returns the method of JSON-RPC, whose params and results are the same ProtoJSON messages. */
const method = (name: string): AnyMethod => methods.get(name)!;

const listTasks = method('ListTasks') as Method<'listTasks'>;

/**
 * Converts `status=working` of a query (section 11.5) to ProtoJSON's `TASK_STATE_WORKING`, and `status=2` to its number. The names
 * of ProtoJSON are accepted, too.
 */
function withStateName({ status, ...params }: JsonObject): JsonObject {
  if (typeof status === 'string' && /^\d{1,10}$/.test(status)) return { ...params, status: Number(status) };
  const isShort = typeof status === 'string' && /^[a-z-]+$/.test(status);
  if (!isShort) return status === undefined ? params : { ...params, status };
  return { ...params, status: `TASK_STATE_${status.replaceAll('-', '_').toUpperCase()}` };
}

/** The HTTP+JSON binding of A2A v1.0 (section 11.3 and the proto's `google.api.http`). */
export const http = new HttpBinding(
  {
    'message:send': { POST: method('SendMessage') },
    'message:stream': { POST: method('SendStreamingMessage') },
    tasks: { GET: { ...listTasks, decode: (params) => listTasks.decode(withStateName(params ?? {})) } },
    'tasks/{id}:cancel': { POST: method('CancelTask') },
    // The section specifies POST, the proto GET.
    'tasks/{id}:subscribe': { GET: method('SubscribeToTask'), POST: method('SubscribeToTask') },
    'tasks/{id}': { GET: method('GetTask') },
    'tasks/{taskId}/pushNotificationConfigs': {
      GET: method('ListTaskPushNotificationConfigs'),
      POST: method('CreateTaskPushNotificationConfig'),
    },
    'tasks/{taskId}/pushNotificationConfigs/{id}': {
      GET: method('GetTaskPushNotificationConfig'),
      DELETE: method('DeleteTaskPushNotificationConfig'),
    },
    extendedAgentCard: { GET: method('GetExtendedAgentCard') },
  },
  encodeUpdate,
);
