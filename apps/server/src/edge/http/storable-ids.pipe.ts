import { taskNotFound } from '@app/domain';
import { isStorableText } from '@app/wire';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';

/** Throws TaskNotFound for a path parameter that Postgres cannot store as text, because no task can have such an id. */
export class StorableIdsPipe implements PipeTransform {
  transform(value: unknown, { type }: ArgumentMetadata): unknown {
    if (type === 'param' && typeof value === 'string' && !isStorableText(value)) throw taskNotFound(value);
    return value;
  }
}
