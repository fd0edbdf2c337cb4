/**
 * Why a credential is no good, in words for whoever sent it. `genuine`: it was issued and has ended since, or grants
 * nothing here. `guess`: it may be someone trying.
 */
export class CredentialRejected extends Error {
  constructor(
    message: string,
    readonly suspicion: 'genuine' | 'guess',
  ) {
    super(message);
  }
}
