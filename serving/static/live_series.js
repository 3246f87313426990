// A series that grows: a new point in its bucket, and a window that moves on.

import { serverNow } from "./server_time.js";

/** @import { ScoredPoint, Shown } from "../page.d.ts" */

/**
 * Puts a point into its bucket. One of a single interval becomes the point. In a longer one a new reading is counted; a correction
 * cannot be, as the bucket does not know what it replaces: that is seen when the series is loaded next.
 * @param {Shown} series
 * @param {ScoredPoint} point
 */
export function insert(series, point) {
  const { buckets, newest } = series;
  const index = Math.floor((Date.parse(point.at) - Date.parse(series.start)) / (1000 * series.bucket_seconds));
  const later = newest === null || Date.parse(point.at) > Date.parse(newest.at);
  if (later || Date.parse(point.at) === Date.parse(newest.at)) series.newest = point;
  if (index < 0 || index >= buckets.count.length) return;
  if (series.bucket_seconds === series.interval_seconds) {
    const { value, expected, low, high } = point;
    const one = { count: 1, min: value, max: value, mean: value, anomalies: Number(point.anomalous), expected, low, high };
    for (const [name, cell] of Object.entries(one)) /** @type {Record<string, unknown[]>} */ (/** @type {unknown} */ (buckets))[name][index] = cell;
  } else if (later) {
    buckets.count[index] += 1;
    buckets.anomalies[index] += Number(point.anomalous);
    buckets.min[index] = Math.min(buckets.min[index] ?? point.value, point.value);
    buckets.max[index] = Math.max(buckets.max[index] ?? point.value, point.value);
    const before = buckets.mean[index] ?? point.value;
    buckets.mean[index] = before + (point.value - before) / buckets.count[index];
  }
}

/**
 * Moves a live window on to now: whole buckets leave it.
 * @param {Shown} series
 */
export function slide(series) {
  const by = serverNow() - Date.parse(series.end);
  series.late += by;
  for (const edge of /** @type {const} */ (["end", "until"])) series[edge] = new Date(Date.parse(series[edge]) + by).toISOString();
  const leave = Math.floor(series.late / (1000 * series.bucket_seconds));
  if (leave <= 0) return;
  series.late -= leave * 1000 * series.bucket_seconds;
  series.start = new Date(Date.parse(series.start) + leave * 1000 * series.bucket_seconds).toISOString();
  for (const column of Object.values(series.buckets)) column.splice(0, leave);
}
