// What part of time the chart shows: a range that ends now, or a span between two instants, and how keys and the mouse change it.

import { serverNow } from "./server_time.js";

/** @import { FeedInfo, IncidentInfo, Shown, Span } from "../page.d.ts" */

const MINUTE = 60_000;
export const RANGES = [15, 60, 240, 1440, 10_080, 50_400]; // minutes
const FEWEST = 24; // intervals
const USUAL = 360; // intervals
const SHORTEST = 10_000; // milliseconds
export const LONGEST = 45 * 1440 * MINUTE; // that serving answers

/** @type {(interval: number) => number} The length of the shortest window, milliseconds; of an interval in seconds. */
export const shortest = (interval) => Math.max(SHORTEST, 1000 * interval);

/**
 * The ranges that suit the feed's interval, in minutes.
 * @param {FeedInfo} feed
 */
export const ranges = (feed) => RANGES.filter((minutes) => minutes * 60 >= FEWEST * feed.interval_seconds || minutes === RANGES.at(-1));

/**
 * The range of a feed that was chosen without one.
 * @param {FeedInfo} feed
 */
export const usual = (feed) => ranges(feed).find((minutes) => minutes * 60 >= USUAL * feed.interval_seconds) ?? RANGES[RANGES.length - 1];

/** @type {(minutes: number) => string} */
export function inWords(minutes) {
  if (minutes % 1) return `${60 * minutes} seconds`;
  for (const [name, length] of /** @type {const} */ ([["week", 10_080], ["day", 1440], ["hour", 60], ["minute", 1]])) {
    if (minutes % length === 0) return `${minutes / length} ${name}${minutes === length ? "" : "s"}`;
  }
  return `${minutes} minutes`;
}

/**
 * A span of the URL; null where it has none, or one that is too short or too long.
 * @param {string | null} from
 * @param {string | null} to
 * @param {number} [interval] seconds
 * @returns {Span | null}
 */
export function spanOf(from, to, interval = 0) {
  const length = Date.parse(to ?? "") - Date.parse(from ?? "");
  return from && to && length >= shortest(interval) && length <= LONGEST ? { from, to } : null;
}

/**
 * As long as the range, three quarters before an instant and one after it.
 * @param {string} at
 * @param {number} minutes
 */
export const around = (at, minutes) => span(Date.parse(at) - 0.75 * minutes * MINUTE, Date.parse(at) + 0.25 * minutes * MINUTE);

/**
 * Between two instants (epoch milliseconds), ten seconds and an interval at least, and no longer than serving answers.
 * @param {number} from
 * @param {number} to
 * @param {number} [interval] seconds
 * @returns {Span}
 */
export function span(from, to, interval = 0) {
  const middle = (from + to) / 2;
  const half = Math.min(Math.max(to - from, shortest(interval)), LONGEST) / 2;
  return { from: new Date(Math.round(middle - half)).toISOString(), to: new Date(Math.round(middle + half)).toISOString() };
}

/**
 * What brings an incident into sight: one that is over, with half as much before it and after it; an open one, the shortest range
 * that reaches back to its start, as that goes on by itself.
 * @param {IncidentInfo} incident
 * @param {FeedInfo} feed
 * @param {number} now epoch milliseconds
 * @returns {{ span: Span | null, minutes?: number }}
 */
export function sight({ start, end }, feed, now) {
  const newest = feed.newest_at === null ? now : Date.parse(feed.newest_at);
  const from = Date.parse(start);
  const to = end === null ? now : Date.parse(end);
  const range = ranges(feed).find((minutes) => (newest < now - minutes * MINUTE ? newest : now) - 0.9 * minutes * MINUTE < from);
  if (end === null && range !== undefined) return { span: null, minutes: range };
  const beside = Math.max((to - from) / 2, 1000 * FEWEST * feed.interval_seconds);
  return { span: span(from - beside, to + beside) };
}

/**
 * From when to when a chart shows a series, epoch milliseconds.
 * @param {Shown} series
 */
export const windowOf = ({ span, start, until }) => [span?.from ?? start, span?.to ?? until].map((at) => Date.parse(at));

/**
 * From when to when it is: between the instants of a span, or the minutes that end now; epoch milliseconds.
 * @param {{ span: Span | null, minutes: number }} part
 */
export const boundsOf = ({ span, minutes }) => (span ? [Date.parse(span.from), Date.parse(span.to)] : [serverNow() - minutes * MINUTE, serverNow()]);

/**
 * A window moved by a part of its length.
 * @param {number[]} window epoch milliseconds
 * @param {number} part
 */
export const moved = ([from, to], part) => [from + (to - from) * part, to + (to - from) * part];

/**
 * A window that becomes longer by a factor, or shorter; the instant at `part` of it stays where it is.
 * @param {number[]} window epoch milliseconds
 * @param {number} factor
 * @param {number} part 0: at its start, 1: at its end
 * @param {number} interval seconds
 */
export function zoomed([from, to], factor, part, interval) {
  const length = Math.min(Math.max((to - from) * factor, shortest(interval)), LONGEST);
  const at = from + (to - from) * part;
  return [at - length * part, at + length * (1 - part)];
}

/**
 * What a key makes of what is shown: another span, "now", or nothing.
 * @param {string} key
 * @param {number[]} window epoch milliseconds
 * @param {number} interval seconds
 * @returns {Span | "now" | null}
 */
export function byKey(key, [from, to], interval) {
  const quarter = (to - from) / 4;
  if (key === "Escape") return "now";
  if (key === "ArrowLeft") return span(from - quarter, to - quarter);
  if (key === "ArrowRight") return span(from + quarter, to + quarter);
  if (key === "+" || key === "=") return span(from + quarter, to - quarter, interval);
  if (key === "-") return span(from - 2 * quarter, to + 2 * quarter);
  return null;
}
