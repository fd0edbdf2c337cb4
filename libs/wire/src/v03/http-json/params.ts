import { BOUNDS, type Json, type JsonObject } from '@app/domain';
import {
  IsArrayOf,
  IsBoolean,
  IsHistoryLength,
  IsIntegerBetween,
  IsJsonObject,
  IsPageToken,
  Optional,
  OptionalId,
  Required,
  RequiredId,
} from '../../validation/param-rules.js';

/*
 * The request messages of the v0.3 proto. The ids replace the resource names `tasks/{id}` of its paths.
 */

export class SendMessageRequestBody {
  @Optional() @IsJsonObject() configuration?: JsonObject;
  @Optional() @IsJsonObject() metadata?: JsonObject;
}

export class SendMessageConfigurationBody {
  @Optional() @IsArrayOf('media types') acceptedOutputModes?: Json[];
  @Optional() @IsJsonObject() pushNotification?: JsonObject;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsBoolean() blocking?: boolean;
}

export class TaskPath {
  @RequiredId() id!: string;
}

export class GetTaskQuery extends TaskPath {
  @IsHistoryLength() historyLength?: number;
}

class TaskConfigsPath {
  @RequiredId() taskId!: string;
}

export class TaskConfigPath extends TaskConfigsPath {
  @RequiredId() id!: string;
}

export class ListConfigsQuery extends TaskConfigsPath {
  @Optional() @IsIntegerBetween(0, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
}

/** The body is the `config` of the request according to the binding, but the Python SDK sends the whole request. */
export class CreateConfigBody extends TaskConfigsPath {
  @OptionalId() configId?: string;
  @Optional() @IsJsonObject() config?: JsonObject;
}

export class TaskConfigBody {
  @Required() @IsJsonObject() pushNotificationConfig!: JsonObject;
}
