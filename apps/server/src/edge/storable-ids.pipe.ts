import { taskNotFound } from '@app/domain';
import { isStorable } from '@app/wire';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';

/** Nothing has an id that the database could not hold, so a path with such an id leads to nothing, on every surface. */
export class StorableIds implements PipeTransform {
  transform(value: unknown, { type }: ArgumentMetadata): unknown {
    if (type === 'param' && typeof value === 'string' && !isStorable(value)) throw taskNotFound(value);
    return value;
  }
}
