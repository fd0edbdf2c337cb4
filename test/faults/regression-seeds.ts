/**
 * Seeds of storms that have found a defect. A seed repeats the load and the faults, but not every race, and not after the list
 * of faults has changed. Each defect therefore also has its own test.
 */
export const REGRESSION_SEEDS: readonly number[] = [
  // A connection that was cut inside a transaction ended the process, and a restart of Postgres caused a 500 response.
  1, 2, 3,
  // A task failed because Postgres was unreachable while a worker read the task's messages.
  2002,
  // A heartbeat that had waited for a row lock renewed a lease that had expired meanwhile.
  3003,
  // An idle connection without a request delayed the shutdown of a server.
  4018,
];
