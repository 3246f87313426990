// What the lines of a chart of one's own are loaded from: the readings of a service, and the rows of a query's table.

import { columnsOf, isWindowed, sourceOf, stemOf, windowOfRow } from "./explore_lines.js";
import { insert } from "./live_series.js";
import { get, getPage } from "./loads.js";
import { Meanwhile } from "./meanwhile.js";
import { LONGEST } from "./ranges.js";

/** @import { Buckets, ChartLine, Columns, QueryRow, ScoredPoint, Series, Shown } from "../page.d.ts" */
/** @typedef {Readings | Rows} Source */

const AHEAD = 120_000; // milliseconds: there, live readings find their buckets until the next load
const [READINGS_AGAIN, LOADING_AGAIN, ROWS_AGAIN] = [30_000, 5000, 2000]; // milliseconds from an answer to the next question
const PAGE = 500; // rows that one answer may have
const MOST_ROWS = 5000;
const FIRST_WINDOW = 1e12; // epoch milliseconds: from then on, keys ascend with time, as all have 13 digits

/** The readings of one service. */
export class Readings {
  /** @param {ChartLine} line */
  constructor(line) {
    this.id = sourceOf(line);
    this.feed = line.source;
    this.service = line.key;
    this.series = /** @type {Shown | null} */ (null);
    this.newPoints = /** @type {Meanwhile<ScoredPoint>} */ (new Meanwhile());
  }

  /**
   * @param {number[]} window epoch milliseconds
   * @param {number} width pixels
   * @param {AbortSignal} left
   */
  async load([from, to], width, left) {
    const until = Math.min(to + AHEAD, from + LONGEST);
    const query = new URLSearchParams({ from: new Date(from).toISOString(), to: new Date(until).toISOString(), width: String(width) });
    const path = `/api/feeds/${encodeURIComponent(this.feed)}/services/${encodeURIComponent(this.service)}/series?${query}`;
    const [series, points] = await this.newPoints.since(/** @type {Promise<Series>} */ (get(path, left)));
    const shown = { ...series, span: null, stale: false, late: 0 };
    for (const each of points) insert(shown, each);
    this.series = shown;
  }

  /** Until it is loaded again, milliseconds. */
  get pause() {
    return this.series?.loading ? LOADING_AGAIN : READINGS_AGAIN;
  }

  /** What there is to say of what was loaded. */
  get note() {
    return this.series?.loading ? "Serving still reads what Kafka holds. Readings may be missing." : "";
  }

  /** Of a reading, seconds. */
  get interval() {
    return this.series?.interval_seconds ?? 0;
  }

  /** Takes a live reading, if it is of this service. @param {ScoredPoint} point */
  take(point) {
    if (point.feed !== this.feed || point.service !== this.service) return false;
    this.newPoints.take(point);
    if (!this.series) return false;
    insert(this.series, point);
    return true;
  }

  /**
   * Seconds and the line's values.
   * @param {ChartLine} line
   * @returns {Columns}
   */
  columns(line) {
    const names = columnsOf(line).map((each) => /** @type {keyof Buckets} */ (each === "value" ? "mean" : each));
    if (!this.series) return [[], ...names.map(() => [])];
    const { start, bucket_seconds: length, buckets } = this.series;
    const first = Date.parse(start) / 1000;
    return [buckets.count.map((_, index) => first + index * length), ...names.map((name) => buckets[name])];
  }
}

/** The rows of one key of a table: of each of its windows, or the last one only. */
export class Rows {
  /** @param {ChartLine} line */
  constructor(line) {
    this.id = sourceOf(line);
    this.line = line;
    this.rows = /** @type {QueryRow[]} */ ([]);
    this.pages = 1;
    this.cut = false;
  }

  /** A row has no interval. */
  get interval() {
    return 0;
  }

  /**
   * @param {number[]} window epoch milliseconds
   * @param {number} _width
   * @param {AbortSignal} left
   */
  async load([from, to], _width, left) {
    const { source, topic, key } = this.line;
    const edges = [from, to].map((at) => `${stemOf(key)}|${Math.max(FIRST_WINDOW, Math.floor(at))}`);
    const query = new URLSearchParams({ topic, limit: String(PAGE), ...(isWindowed(key) ? { from: edges[0], to: edges[1] } : { key }) });
    const rows = /** @type {QueryRow[]} */ ([]);
    let next = /** @type {string | null} */ (`/api/queries/${encodeURIComponent(source)}/rows?${query}`);
    let pages = 0;
    for (; next !== null && rows.length < MOST_ROWS; pages += 1) {
      const page = await getPage(next, left);
      rows.push(...page.body.rows);
      next = page.next;
    }
    [this.pages, this.cut] = [Math.max(1, pages), next !== null];
    this.rows = isWindowed(key) ? rows : seen(this.rows, rows);
  }

  /** Longer after an answer of many pages: it costs serving as much each time. */
  get pause() {
    return ROWS_AGAIN * this.pages;
  }

  get note() {
    const problem = this.rows.find((each) => each.problem !== null)?.problem;
    if (problem) return problem;
    if (this.cut) return `Only the first ${MOST_ROWS.toLocaleString("en")} windows are drawn. Choose a shorter window.`;
    return isWindowed(this.line.key) ? "" : "A key without windows has one row: the chart has what it was since the page was opened.";
  }

  /**
   * Seconds and the line's values, with gaps where windows are missing.
   * @param {ChartLine} line
   * @returns {Columns}
   */
  columns(line) {
    const windowed = isWindowed(line.key);
    const at = this.rows.map((row) => (windowed ? windowOfRow(row.key) : Date.parse(row.at)) / 1000);
    const values = columnsOf(line).map((name) => this.rows.map((row) => numberOf(/** @type {any} */ (row.value)?.[name])));
    return windowed ? gapped(at, values) : [at, ...values];
  }
}

/** @param {ChartLine} line */
export const sourceFor = (line) => (line.of === "feed" ? new Readings(line) : new Rows(line));

/** A number, or a decimal, which the API writes as text; null of anything else. @param {unknown} value */
export function numberOf(value) {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

/** The rows of one key that were seen: each that Kafka took. @type {(before: QueryRow[], now: QueryRow[]) => QueryRow[]} */
const seen = (before, now) => [...before, ...now.filter((row) => before.every((each) => each.at !== row.at || each.offset !== row.offset))];

/** @type {(at: number[], values: (number | null)[][]) => Columns} */
function gapped(at, values) {
  const step = Math.min(...at.slice(1).map((each, index) => each - at[index]));
  const columns = /** @type {Columns} */ ([[], ...values.map(() => [])]);
  at.forEach((each, index) => {
    if (index && each - at[index - 1] > 1.5 * step) columns.forEach((column, place) => column.push(place ? null : at[index - 1] + step));
    columns.forEach((column, place) => column.push(place ? values[place - 1][index] : each));
  });
  return columns;
}
