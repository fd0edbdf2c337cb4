import type { Json, JsonObject } from '@app/domain';
import {
  IsArrayOf,
  IsAuthScheme,
  IsBoolean,
  IsHeaderText,
  IsHistoryLength,
  IsJsonObject,
  IsWebhookUrl,
  Optional,
  OptionalId,
  Required,
  RequiredId,
} from '../validation/param-rules.js';

/*
 * The params of the v0.3 JSON Schema, which has only `lowerCamel` names.
 */

export class NoParams {
  @Optional() @IsJsonObject() metadata?: JsonObject;
}

export class MessageSendParams extends NoParams {
  @Optional() @IsJsonObject() configuration?: JsonObject;
}

export class MessageSendConfiguration {
  @Optional() @IsArrayOf('media types') acceptedOutputModes?: Json[];
  @Optional() @IsBoolean() blocking?: boolean;
  @IsHistoryLength() historyLength?: number;
  @Optional() @IsJsonObject() pushNotificationConfig?: JsonObject;
}

export class TaskIdParams extends NoParams {
  @RequiredId() id!: string;
}

export class TaskQueryParams extends TaskIdParams {
  @IsHistoryLength() historyLength?: number;
}

export class GetPushConfigParams extends TaskIdParams {
  @OptionalId() pushNotificationConfigId?: string;
}

export class DeletePushConfigParams extends TaskIdParams {
  @RequiredId() pushNotificationConfigId!: string;
}

export class TaskPushConfig {
  @RequiredId() taskId!: string;
  @Required() @IsJsonObject() pushNotificationConfig!: JsonObject;
}

export class PushNotificationConfig {
  @OptionalId() id?: string;
  @Required() @IsWebhookUrl() url!: string;
  @Optional() @IsHeaderText(8192) token?: string;
  @Optional() @IsJsonObject() authentication?: JsonObject;
}

export class PushNotificationAuthentication {
  @Optional() @IsArrayOf('HTTP authentication schemes') schemes?: Json[];
  @Optional() @IsHeaderText(8192) credentials?: string;
}

export class AuthenticationScheme {
  @Required() @IsAuthScheme() scheme!: string;
}
