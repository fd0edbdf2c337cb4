import { invalidField, type Message, type Principal, quoted } from '@app/domain';

/**
 * Returns the ring that a message requests in `metadata.ring` or in the `ring` of a data part. Without either, it is
 * `fallback`, or else the caller's first ring. Errors: InvalidParameters if the rings differ, or if the caller is not in
 * the ring.
 */
export function ringOf(principal: Principal, message: Message, fallback?: string): string {
  const requested = requestedRings(message);
  for (const { field, ring } of requested) {
    if (typeof ring !== 'string') throw invalidField(field, 'must be a string');
    if (ring !== requested[0]!.ring) {
      throw invalidField(
        field,
        `${quoted(ring)} differs from ${quoted(requested[0]!.ring as string)}; request one ring`,
      );
    }
    if (!principal.rings.includes(ring)) {
      const rings = principal.rings.map(quoted).join(', ') || 'none';
      throw invalidField(field, `${quoted(ring)} is not one of the caller's rings (${rings})`);
    }
  }
  const ring = (requested[0]?.ring as string | undefined) ?? fallback ?? principal.rings[0];
  if (ring === undefined) {
    throw invalidField('message.metadata.ring', 'the caller has no ring; use a credential with at least one');
  }
  return ring;
}

function requestedRings({ metadata, parts }: Message): { readonly field: string; readonly ring: unknown }[] {
  const inMetadata =
    metadata?.['ring'] === undefined ? [] : [{ field: 'message.metadata.ring', ring: metadata['ring'] }];
  const inParts = parts.flatMap(({ data }, index) =>
    typeof data === 'object' && data !== null && !Array.isArray(data) && data['ring'] !== undefined
      ? [{ field: `message.parts[${index}].data.ring`, ring: data['ring'] }]
      : [],
  );
  return [...inMetadata, ...inParts];
}
