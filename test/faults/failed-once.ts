/**
 * Seeds of storms that once found something. The same seed brings the same load and faults, though not their every race, and
 * not the same after the list of faults has changed: what was found has a test of its own.
 */
export const FAILED_ONCE: readonly number[] = [
  // A connection that broke in the middle of a transaction ended the process; a database that restarted was answered 500.
  1,
  2, 3,
  // A task failed because the database was away as a worker read what was said in it.
  2002,
  // A heartbeat that waited for a row renewed a lease that had ended meanwhile.
  3003,
  // A connection on which nobody had asked anything held up the end of a server.
  4018,
];
