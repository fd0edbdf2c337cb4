/** Seeds of storms that once found something. The same seed brings the same load and faults, though not their every race. */
export const FAILED_ONCE: readonly number[] = [];
