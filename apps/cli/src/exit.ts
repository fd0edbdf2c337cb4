export const FAILURE = 1;
export const WRONG_USAGE = 2;
/** 128 + SIGINT, as shells have it. */
export const INTERRUPTED = 130;

/** A command that did its work and found that not all is well; it has said so itself. */
export class NotWell extends Error {}

/** Someone pressed Ctrl-C. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
  }
}
