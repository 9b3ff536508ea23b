/** The value below or at which `share` of the samples lie (nearest rank: always a sample, never invented). */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What one more `x` costs: the slope of the line through the points by least squares. */
export function slope(points: readonly Point[]): number {
  if (points.length < 2) return Number.NaN;
  const meanX = mean(points.map(({ x }) => x));
  const meanY = mean(points.map(({ y }) => y));
  let covariance = 0;
  let variance = 0;
  for (const { x, y } of points) {
    covariance += (x - meanX) * (y - meanY);
    variance += (x - meanX) ** 2;
  }
  return variance === 0 ? Number.NaN : covariance / variance;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The same numbers for the same seed, so that every contender sees the same load. */
export function seededRandom(seed: number): () => number {
  let state = BigInt.asUintN(64, BigInt(seed) * 2n + 1n);
  return () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number(state >> 33n) / 2 ** 31;
  };
}
