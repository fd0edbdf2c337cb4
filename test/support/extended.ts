/** Whether this run belongs to `npm run test:extended`, which sets the variable. */
export const EXTENDED = process.env['TEST_EXTENDED'] === '1';

/** Returns the size of a test: the smoke size in `npm test`, the full size in `npm run test:extended`. */
export const sizeOf = ({ smoke, full }: { smoke: number; full: number }): number => (EXTENDED ? full : smoke);
