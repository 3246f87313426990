// The readings some days before, beside those that are shown: at the same time of the local day, whatever the clocks were set to.

import { span, windowOf } from "./ranges.js";
import { wallClock } from "./wall_clock.js";

/** @import { Series, Shown, Span } from "../page.d.ts" */

const DAY = 86_400_000;
const DAYS = /** @type {Record<string, number>} */ ({ day: 1, week: 7 });

/** What a range can be compared with, and how the form names it. A date, as YYYY-MM-DD, is another. */
export const COMPARISONS = [["", "nothing"], ["day", "the day before"], ["week", "the week before"]];

/**
 * A comparison of the URL; empty where it has none, or one that is not known.
 * @param {string | null} text
 */
export const comparisonOf = (text) => (text && (text in DAYS || (/^\d{4}-\d\d-\d\d$/.test(text) && Date.parse(text) > 0)) ? text : "");

/**
 * How many days before. A date is compared with the last one that is shown before what lies ahead.
 * @param {string} comparison
 * @param {Shown} series
 */
function daysBefore(comparison, series) {
  if (comparison in DAYS) return DAYS[comparison];
  const last = wallClock(series.timezone).local(Date.parse(series.end) - 1);
  return Math.floor(last / DAY) - Date.parse(comparison) / DAY;
}

/**
 * What a series is compared with, loaded; null if with nothing.
 * @param {string} comparison
 * @param {Shown} shown
 * @param {(span: Span) => Promise<Series>} load
 */
export async function earlier(comparison, shown, load) {
  if (!comparison) return null;
  const found = new Earlier(comparison, shown);
  found.series = await load(found.window(shown));
  return found;
}

export class Earlier {
  /**
   * @param {string} comparison
   * @param {Shown} shown
   */
  constructor(comparison, shown) {
    this.days = daysBefore(comparison, shown);
    this.clock = wallClock(shown.timezone);
    this.series = /** @type {Series | null} */ (null); // until it is loaded
  }

  /**
   * The same time of the local day as at an instant, so many days before; null: the clocks skipped it.
   * @param {number} at
   */
  before(at) {
    return this.clock.instant(this.clock.local(at) - this.days * DAY);
  }

  /**
   * Of the earlier readings.
   * @param {Shown} shown
   * @returns {Span}
   */
  window(shown) {
    const [from, to] = windowOf(shown).map((at) => this.before(at) ?? at - this.days * DAY);
    return span(from, to);
  }

  /**
   * For each bucket of a series, the mean of the earlier bucket.
   * @param {Series} shown
   */
  column({ start, bucket_seconds: length, buckets }) {
    const { series } = this;
    const first = Date.parse(start);
    return buckets.count.map((_, index) => {
      const at = series && this.before(first + 1000 * index * length);
      if (series === null || at === null) return null;
      return series.buckets.mean[Math.floor((at - Date.parse(series.start)) / (1000 * series.bucket_seconds))] ?? null;
    });
  }
}
