/** The storage cannot be used. The message is one sentence for the person who started Acta, without any password. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}
