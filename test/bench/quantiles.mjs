/** Returns the p50, p95 and p99 of the values, in the unit of the values. */
export function quantiles(/** @type {number[]} */ values) {
  const sorted = Float64Array.from(values).sort();
  const quantile = (/** @type {number} */ q) =>
    sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
  return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) };
}

export function median(/** @type {number[]} */ values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
