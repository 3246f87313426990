// The lines of a chart of one's own, and the part of time that it shows. The URL holds them.

import { RANGES, spanOf } from "./ranges.js";

/** @import { ChartLine, OwnChart } from "../page.d.ts" */

export const MOST = 8; // as many as there are colours
/** What a chart can show of readings, and how the form names it. */
export const OF_READINGS = [["value", "value"], ["expected", "expected"], ["low..high", "band"]];
const OF_TABLES = /^\w+(\.\.\w+)?$/;
const USUAL = 60; // minutes
const WINDOWS = "|*"; // at the end of a key: all its windows

/**
 * The chart that the URL asks for. `feed` and `query` begin a line; what follows them is its own.
 * @returns {OwnChart}
 */
export function fromUrl() {
  const query = new URLSearchParams(location.search);
  const lines = /** @type {ChartLine[]} */ ([]);
  for (const [name, value] of query) {
    if (name === "feed" || name === "query") lines.push({ of: name, source: value, topic: "", key: "", column: "", right: false });
    const line = lines.at(-1);
    if (!line) continue;
    if (name === (line.of === "feed" ? "service" : "key")) line.key = value;
    else if (name === "topic" || name === "column") line[name] = value;
    else if (name === "axis") line.right = value === "right";
  }
  const minutes = Number(query.get("minutes"));
  return { lines: linesOf(lines), minutes: RANGES.includes(minutes) ? minutes : USUAL, span: spanOf(query.get("from"), query.get("to")) };
}

/**
 * Those that a chart can have, each once.
 * @param {ChartLine[]} lines
 */
function linesOf(lines) {
  const known = new Map(lines.filter(whole).map((line) => [idOf(line), line]));
  return [...known.values()].slice(0, MOST);
}

/** @type {(line: ChartLine) => boolean} */
const whole = ({ of, source, topic, key, column }) => source !== "" && key !== "" && (of === "feed" ? OF_READINGS.some(([each]) => each === column) : topic !== "" && OF_TABLES.test(column));

/**
 * The chart as parameters of the page's address.
 * @param {OwnChart} chart
 */
export function parameters({ lines, minutes, span }) {
  const query = new URLSearchParams(span ? { ...span } : { minutes: String(minutes) });
  for (const { of, source, topic, key, column, right } of lines) {
    query.append(of, source);
    if (of === "query") query.append("topic", topic);
    query.append(of === "feed" ? "service" : "key", key);
    query.append("column", column);
    if (right) query.append("axis", "right");
  }
  return query;
}

/** The values of a service. @type {(feed: string, service: string) => ChartLine} */
export const valuesOf = (feed, service) => ({ of: "feed", source: feed, topic: "", key: service, column: "value", right: false });

/** Of what a line is loaded from. @param {ChartLine} line */
export const sourceOf = ({ of, source, topic, key }) => JSON.stringify([of, source, topic, key]);

/** @param {ChartLine} line */
export const idOf = (line) => JSON.stringify([sourceOf(line), line.column]);

/** The names of its columns: two of a band. @param {ChartLine} line */
export const columnsOf = (line) => line.column.split("..");

/** @param {string} column */
export const inWords = (column) => OF_READINGS.find(([each]) => each === column)?.[1] ?? column.split("..").join(" to ");

/** @param {ChartLine} line */
export const nameOf = ({ of, source, topic, key, column }) => `${of === "feed" ? source : topic} · ${stemOf(key)} · ${inWords(column)}`;

/** A key without its window, if it has one. @param {string} key */
export const stemOf = (key) => (key.endsWith(WINDOWS) ? key.slice(0, -WINDOWS.length) : key);

/** Whether the key stands for all windows of a key. @param {string} key */
export const isWindowed = (key) => key.endsWith(WINDOWS);

/** What a row of a table belongs to: the windows of a key, or the key itself. @param {string} key of the row */
export const keyOf = (key) => key.replace(/\|\d{13}$/, WINDOWS);

/** The start of a row's window, epoch milliseconds. @param {string} key of the row */
export const windowOfRow = (key) => Number(key.slice(key.lastIndexOf("|") + 1));
