import { BOUNDS, type Json, type JsonObject } from '@app/domain';
import {
  IsArrayOf,
  IsAuthScheme,
  IsBoolean,
  IsEnumOf,
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
} from '../validation/param-rules.js';
import { STATE_ENUM } from './task.codec.js';

/*
 * The request messages of the v1.0 proto with the same fields. `tenant` is read so that it can be compared with the caller's tenant.
 */

export class TenantParams {
  @OptionalId() tenant?: string;
}

export class SendMessageParams extends TenantParams {
  @Optional() @IsJsonObject() configuration?: JsonObject;
  @Optional() @IsJsonObject() metadata?: JsonObject;
}

export class SendMessageConfigurationParams {
  @Optional() @IsArrayOf('media types') acceptedOutputModes?: Json[];
  @Optional() @IsJsonObject() taskPushNotificationConfig?: JsonObject;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsBoolean() returnImmediately?: boolean;
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
  @Optional() @IsEnumOf(STATE_ENUM) status?: string | number;
  @Optional() @IsIntegerBetween(1, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsTimestamp() statusTimestampAfter?: string;
  @Optional() @IsBoolean() includeArtifacts?: boolean;
}

export class AuthenticationParams {
  @Required() @IsAuthScheme() scheme!: string;
  @Optional() @IsHeaderText(8192) credentials?: string;
}

/** The configuration inside a send, where the task id is not known yet. */
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
  /** 0 means absent, because the field is not `optional` in the proto. */
  @Optional() @IsIntegerBetween(0, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
}

export class PushConfigIdParams extends TaskPushConfigsParams {
  @RequiredId() id!: string;
}
