export const FAILURE = 1;
export const USAGE_ERROR = 2;
/** 128 + SIGINT, the convention of shells. */
export const INTERRUPTED = 130;

/** Ends a command with `FAILURE` after it has printed what its check found. */
export class CheckFailed extends Error {}

/** Ends a command with `INTERRUPTED` after Ctrl-C. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
  }
}
