// A series as the columns that uPlot draws.

import { meansBeside } from "./beside.js";

/** @import { Buckets, Columns, Plot, Series } from "../page.d.ts" */
/** @import { Earlier } from "./earlier.js" */

/**
 * Seconds, value, low, high, expected, anomalous value, lowest, highest, earlier value, and the values of each service beside it.
 * @param {Series} series
 * @param {Earlier | null} earlier
 * @param {Series[]} beside
 * @returns {Columns}
 */
export function columns(series, earlier, beside) {
  const { start, bucket_seconds: length, buckets } = series;
  const first = Date.parse(start) / 1000;
  const seconds = buckets.count.map((_, index) => first + index * length);
  const anomalous = buckets.count.map((_, index) => farthest(buckets, index));
  const before = earlier?.column(series) ?? buckets.count.map(() => null);
  return [seconds, buckets.mean, buckets.low, buckets.high, buckets.expected, anomalous, buckets.min, buckets.max, before, ...beside.map((each) => meansBeside(series, each))];
}

/**
 * The reading of a bucket that is farthest from what is expected, if there is an anomaly in it.
 * @param {Buckets} buckets
 * @param {number} index
 */
function farthest({ anomalies, expected, min, max }, index) {
  const [low, high, normal] = [min[index], max[index], expected[index]];
  if (!anomalies[index] || low === null || high === null) return null;
  return normal !== null && normal - low > high - normal ? low : high;
}

/**
 * Indexes of readings that no line reaches, as there is none beside them.
 * @type {(plot: Plot, column: number, show: boolean) => number[] | null}
 */
export function alone(plot, column, show) {
  if (show) return null;
  const values = plot.data[column];
  const own = values.flatMap((value, index) => (value === undefined ? [] : [index])); // other places are those of other lines
  return own.filter((index, place) => values[index] !== null && (values[own[place - 1]] ?? null) === null && (values[own[place + 1]] ?? null) === null);
}
