import { BOUNDS, type Json, type JsonObject } from '@app/domain';
import { IsArray, IsBoolean } from 'class-validator';
import {
  IsHistoryLength,
  IsIntegerBetween,
  IsJsonObject,
  IsPageToken,
  Optional,
  OptionalId,
  Required,
  RequiredId,
} from '../validation/params.js';

/*
 * The request messages of the v0.3 proto, with the resource names `tasks/{id}` of its paths taken apart.
 */

export class SendMessageRequestBody {
  @Optional() @IsJsonObject() configuration?: JsonObject;
  @Optional() @IsJsonObject() metadata?: JsonObject;
}

export class SendMessageConfigurationBody {
  @Optional() @IsArray({ message: 'must be an array of media types' }) acceptedOutputModes?: Json[];
  @Optional() @IsJsonObject() pushNotification?: JsonObject;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsBoolean({ message: 'must be true or false' }) blocking?: boolean;
}

export class TaskPath {
  @RequiredId() id!: string;
}

export class GetTaskQuery extends TaskPath {
  @IsHistoryLength() historyLength?: number;
}

export class TaskConfigsPath {
  @RequiredId() taskId!: string;
}

export class TaskConfigPath extends TaskConfigsPath {
  @RequiredId() id!: string;
}

export class ListConfigsQuery extends TaskConfigsPath {
  @Optional() @IsIntegerBetween(0, BOUNDS.pageSizeMax) pageSize?: number;
  @Optional() @IsPageToken() pageToken?: string;
}

/** The binding's body is the `config` of the request; the Python SDK sends the whole request. */
export class CreateConfigBody extends TaskConfigsPath {
  @OptionalId() configId?: string;
  @Optional() @IsJsonObject() config?: JsonObject;
}

export class TaskConfigBody {
  @Required() @IsJsonObject() pushNotificationConfig!: JsonObject;
}
