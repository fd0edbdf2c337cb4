import { BOUNDS, type Json, type JsonObject } from '@app/domain';
import { IsArray, IsBoolean, IsIn } from 'class-validator';
import {
  IsAuthScheme,
  IsHeaderText,
  IsHistoryLength,
  IsIntegerBetween,
  IsJsonObject,
  IsPageToken,
  IsTimestamp,
  IsWebhookUrl,
  Optional,
  OptionalId,
  Required,
  RequiredId,
} from '../validation/params.js';
import { STATUS_BY_STATE } from './task.codec.js';

/*
 * The request messages of the v1.0 proto, field for field. `tenant` is read so that it can be checked against the caller.
 */

export class TenantParams {
  @OptionalId() tenant?: string;
}

export class SendMessageParams extends TenantParams {
  @Optional() @IsJsonObject() configuration?: JsonObject;
  @Optional() @IsJsonObject() metadata?: JsonObject;
}

export class SendMessageConfigurationParams {
  @Optional() @IsArray({ message: 'must be an array of media types' }) acceptedOutputModes?: Json[];
  @Optional() @IsJsonObject() taskPushNotificationConfig?: JsonObject;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsBoolean({ message: 'must be true or false' }) returnImmediately?: boolean;
}

export class SubscribeToTaskParams extends TenantParams {
  @RequiredId() id!: string;
}

export class GetTaskParams extends SubscribeToTaskParams {
  @IsHistoryLength() historyLength?: number;
}

export class CancelTaskParams extends SubscribeToTaskParams {
  @Optional() @IsJsonObject() metadata?: JsonObject;
}

export class ListTasksParams extends TenantParams {
  @OptionalId() contextId?: string;
  @Optional()
  @IsIn([...STATUS_BY_STATE.keys(), 'TASK_STATE_UNSPECIFIED'], { message: 'must be a TaskState' })
  status?: string;
  @Optional() @IsIntegerBetween(1, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsTimestamp() statusTimestampAfter?: string;
  @Optional() @IsBoolean({ message: 'must be true or false' }) includeArtifacts?: boolean;
}

export class AuthenticationParams {
  @Required() @IsAuthScheme() scheme!: string;
  @Optional() @IsHeaderText(8192) credentials?: string;
}

/** Inside a send, where the task is not known yet. */
export class PushConfigParams extends TenantParams {
  @OptionalId() id?: string;
  @OptionalId() taskId?: string;
  @Required() @IsWebhookUrl() url!: string;
  @Optional() @IsHeaderText(8192) token?: string;
  @Optional() @IsJsonObject() authentication?: JsonObject;
}

export class TaskPushConfigsParams extends TenantParams {
  @RequiredId() taskId!: string;
}

export class ListPushConfigsParams extends TaskPushConfigsParams {
  /** Not `optional` in the proto, so that 0 means that it was not given. */
  @Optional() @IsIntegerBetween(0, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
}

export class PushConfigIdParams extends TaskPushConfigsParams {
  @RequiredId() id!: string;
}
