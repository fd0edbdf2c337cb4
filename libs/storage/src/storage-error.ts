/** The storage cannot be used. The message is one sentence for the person who starts Acta, and contains no password. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}
