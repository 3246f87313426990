// The form that adds a line to a chart of one's own: a source, one of its services or keys, and a column.

import { byId, fill, inputById, selectById } from "./dom.js";
import { inWords, isWindowed, keyOf, MOST, OF_READINGS, stemOf } from "./explore_lines.js";
import { numberOf } from "./explore_sources.js";
import { get, leave, run } from "./loads.js";
import { isObject } from "./query_rows.js";

/** @import { ChartLine, FeedInfo, QueryInfo, QueryRow, ServiceInfo } from "../page.d.ts" */

const MOST_KEYS = 50;
const ROWS = 50; // that one question for keys asks for
const LONGEST_KEY = 1000; // characters that serving takes
const BANDS = [["P50", "P90"], ["P50", "P99"], ["Min", "Max"]]; // of tables that have both columns

/** What can be chosen of the source: the columns of each service or key. `full`: the chart has as many lines as it can. */
const offered = { source: "", columns: /** @type {Map<string, string[][]>} */ (new Map()), more: false, loaded: false, full: false };
let loading = new AbortController(); // of the source that is chosen

/** @type {(line: { of: string, source: string, topic: string }) => string} */
const valueOf = ({ of, source, topic }) => JSON.stringify([of, source, topic]);

/**
 * Offers these sources, and chooses the first if none of them is chosen.
 * @param {FeedInfo[]} feeds
 * @param {QueryInfo[]} queries
 */
export function offerSources(feeds, queries) {
  const ofFeeds = feeds.map(({ name }) => [valueOf({ of: "feed", source: name, topic: "" }), `readings of ${name}`]);
  const tables = queries.flatMap(({ name, outputs }) => outputs.filter((each) => each.table).map(({ topic }) => [valueOf({ of: "query", source: name, topic }), `table ${topic}`]));
  const all = [...ofFeeds, ...tables];
  const known = all.some(([value]) => value === offered.source);
  fill("source", all, known ? offered.source : (all[0]?.[0] ?? ""));
  selectById("source").disabled = !all.length;
  if (!known) chooseSource();
  if (!all.length) byId("add-note").textContent = "No feed and no query with a table is declared.";
}

function chooseSource() {
  offered.source = selectById("source").value;
  inputById("prefix").value = "";
  load();
}

/** Loads the services or keys of the source. */
function load() {
  loading.abort();
  loading = new AbortController();
  Object.assign(offered, { columns: new Map(), more: false, loaded: false });
  draw();
  if (!offered.source) return leave("keys");
  const [of, source, topic] = JSON.parse(offered.source);
  const left = loading.signal;
  void run("keys", async () => {
    const found = of === "feed" ? await servicesOf(source, left) : await keysOf(source, topic, inputById("prefix").value, left);
    Object.assign(offered, { columns: new Map(found.slice(0, of === "feed" ? undefined : MOST_KEYS)), more: of === "query" && found.length > MOST_KEYS, loaded: true });
    draw();
  });
}

/** @type {(feed: string, left: AbortSignal) => Promise<[string, string[][]][]>} */
async function servicesOf(feed, left) {
  const services = /** @type {ServiceInfo[]} */ (await get(`/api/feeds/${encodeURIComponent(feed)}/services`, left));
  return services.map(({ name }) => [name, OF_READINGS]);
}

/**
 * The keys that begin so, without their windows. Behind the last key of an answer, its other windows are passed over.
 * @type {(query: string, topic: string, prefix: string, left: AbortSignal) => Promise<[string, string[][]][]>}
 */
async function keysOf(query, topic, prefix, left) {
  const found = /** @type {Map<string, QueryRow[]>} */ (new Map());
  for (let from = prefix, whole = false; !whole && found.size <= MOST_KEYS; ) {
    const { rows } = await get(`/api/queries/${encodeURIComponent(query)}/rows?${new URLSearchParams({ topic, from, limit: String(ROWS) })}`, left);
    const fitting = /** @type {QueryRow[]} */ (rows).filter(({ key }) => key.startsWith(prefix));
    for (const row of fitting) found.set(keyOf(row.key), [...(found.get(keyOf(row.key)) ?? []), row]);
    const next = fitting.length ? behind(fitting[fitting.length - 1].key) : from;
    whole = fitting.length < ROWS || next === from || next.length > LONGEST_KEY; // a key that is no UTF-8 leads nowhere
    from = next;
  }
  return [...found].map(([key, rows]) => [key, columnsIn(rows)]);
}

/** The first text that no key of these windows begins with, or that the next key may be. @param {string} key of a row */
const behind = (key) => (isWindowed(keyOf(key)) ? `${stemOf(keyOf(key))}}` : `${key}\0`);

/** The columns with numbers, and bands between two of them. @param {QueryRow[]} rows */
function columnsIn(rows) {
  const names = [...new Set(rows.flatMap(({ value }) => (isObject(value) ? Object.keys(value).filter((name) => numberOf(value[name]) !== null) : [])))];
  const bands = BANDS.filter((band) => band.every((each) => names.includes(each))).map((band) => band.join(".."));
  return [...names, ...bands].map((each) => [each, inWords(each)]);
}

function draw() {
  const ofTable = offered.source.startsWith('["query"');
  const keys = [...offered.columns.keys()];
  byId("prefix-label").hidden = !ofTable;
  byId("subject-name").textContent = ofTable ? "Key" : "Service";
  fill("subject", keys.map((each) => [each, stemOf(each)]), keys.includes(selectById("subject").value) ? selectById("subject").value : (keys[0] ?? ""));
  selectById("subject").disabled = !keys.length;
  const columns = offered.columns.get(selectById("subject").value) ?? [];
  const before = selectById("column").value;
  fill("column", columns, columns.some(([each]) => each === before) ? before : (columns[0]?.[0] ?? ""));
  selectById("column").disabled = !columns.length;
  /** @type {HTMLButtonElement} */ (byId("add-line")).disabled = offered.full || !columns.length;
  byId("add-note").textContent = noteOf(ofTable, keys.length, columns.length);
}

/** @type {(ofTable: boolean, keys: number, columns: number) => string} */
function noteOf(ofTable, keys, columns) {
  if (offered.full) return `A chart has at most ${MOST} lines. Remove one to add another.`;
  if (!offered.loaded) return offered.source ? "Loading what there is." : "";
  if (offered.more) return `These are the first ${MOST_KEYS} keys. Type how the key begins to find others.`;
  if (!keys) return !ofTable ? "No reading and no baseline of this feed yet." : inputById("prefix").value ? "No key begins with this text." : "The table has no rows yet.";
  return columns ? "" : "No row of this key has a number.";
}

/**
 * Calls `add` with what a person adds.
 * @param {(line: ChartLine) => void} add
 */
export function followForm(add) {
  byId("add").addEventListener("submit", (event) => {
    event.preventDefault();
    const [of, source, topic] = JSON.parse(offered.source);
    add({ of, source, topic, key: selectById("subject").value, column: selectById("column").value, right: selectById("axis").value === "right" });
  });
  selectById("source").addEventListener("change", chooseSource);
  selectById("subject").addEventListener("change", draw);
  inputById("prefix").addEventListener("input", load);
}

/** Says whether the chart has as many lines as it can. @param {boolean} full */
export function limit(full) {
  if (full === offered.full) return;
  offered.full = full;
  draw();
}
