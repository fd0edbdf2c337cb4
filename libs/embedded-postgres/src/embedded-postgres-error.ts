/** Reports that the embedded Postgres cannot be used. The message is one sentence for the person who started Acta. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
