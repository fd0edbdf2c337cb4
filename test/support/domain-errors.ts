import { DomainError } from '@app/domain';

/** Returns the kind of the `DomainError` that a call rejects with. For any other result: its text. */
export async function kindOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof DomainError ? error.kind : String(error);
}
