// A series that grows: a new point in its place, and a window that moves on.

import { serverNow } from "./server_time.js";

/** @import { ScoredPoint, Shown } from "../page.d.ts" */

/**
 * Puts a point in its place; it replaces an earlier one of its interval, or what was expected there.
 * @param {Shown} series
 * @param {ScoredPoint} point
 */
export function insert(series, point) {
  const { points, expected } = series;
  const at = Date.parse(point.at);
  let place = points.length;
  while (place > 0 && Date.parse(points[place - 1].at) > at) place -= 1;
  const replaces = place > 0 && Date.parse(points[place - 1].at) === at;
  points.splice(replaces ? place - 1 : place, replaces ? 1 : 0, point);
  const apart = 500 * series.interval_seconds;
  series.expected = expected.filter((each) => Math.abs(Date.parse(each.at) - at) >= apart);
}

/**
 * Moves a live window on to now.
 * @param {Shown} series
 */
export function slide(series) {
  const by = serverNow() - Date.parse(series.end);
  for (const edge of /** @type {const} */ (["start", "end", "until"])) series[edge] = new Date(Date.parse(series[edge]) + by).toISOString();
  series.points = series.points.filter((each) => each.at >= series.start);
}
