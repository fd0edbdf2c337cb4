import { invalidField, type Message, type Principal } from '@app/domain';

/**
 * The ring that a message asks for: `metadata.ring`, or `ring` in a data part; both must agree. Without either it is
 * `fallback`, or the caller's first ring. A ring that the caller is not in is invalid.
 */
export function ringOf(principal: Principal, message: Message, fallback?: string): string {
  const named: { field: string; ring: unknown }[] = [];
  if (message.metadata?.['ring'] !== undefined) {
    named.push({ field: 'message.metadata.ring', ring: message.metadata['ring'] });
  }
  message.parts.forEach(({ data }, at) => {
    if (typeof data === 'object' && data !== null && !Array.isArray(data) && data['ring'] !== undefined) {
      named.push({ field: `message.parts[${at}].data.ring`, ring: data['ring'] });
    }
  });
  for (const { field, ring } of named) {
    if (typeof ring !== 'string') throw invalidField(field, 'must be a string');
    if (ring !== named[0]!.ring) throw invalidField(field, `differs from ${named[0]!.field}`);
    if (!principal.rings.includes(ring)) {
      throw invalidField(field, `is not a ring of the caller, whose first is "${principal.rings[0] ?? ''}"`);
    }
  }
  const ring = (named[0]?.ring as string | undefined) ?? fallback ?? principal.rings[0];
  if (ring === undefined) throw invalidField('message.metadata.ring', 'the caller is in no ring');
  return ring;
}
