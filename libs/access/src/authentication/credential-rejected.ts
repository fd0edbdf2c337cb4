/** A credential that is not valid now. The message is for the client that sent it. */
export class CredentialRejected extends Error {
  constructor(
    message: string,
    /** The credential was never issued: the client may be guessing, so the attempt counts as a failure of its address. */
    readonly mayBeGuessed: boolean,
  ) {
    super(message);
  }
}

/** Returns the rejection of a credential that was issued but has ended, or that grants nothing in this server. */
export const invalidCredential = (message: string) => new CredentialRejected(message, false);

/** Returns the rejection of a credential that may be a guess. */
export const unknownCredential = (message: string) => new CredentialRejected(message, true);
