// Sundial's page: what is chosen (kept in the URL), loading it, and following it live.

import { Chart } from "./chart.js";
import { byId, empty, get, make, selectById } from "./dom.js";
import { gateResults } from "./gate.js";
import * as panels from "./panels.js";

/** @import { AnomalyInfo, FeedInfo, ScoredPoint, ServiceInfo, Shown, StreamInfo } from "../page.d.ts" */

const WINDOWS = [90, 360, 1440]; // in intervals: 15 minutes, 1 hour, 4 hours at ten seconds
const STATE_SECONDS = 5;
const SHOWN_ANOMALIES = 100;
const SHOWN_GATE_RESULTS = 10;

const chart = new Chart(byId("chart"));
/**
 * What is chosen and what is shown; `start` chooses a feed before anything else reads it.
 * @type {{ feeds: FeedInfo[], feed: FeedInfo, services: string[], service: string | null, minutes: number | null, at: string | null,
 *   series: Shown | null, anomalies: AnomalyInfo[], streams: StreamInfo[], streamsAt: number }}
 */
const now = { feeds: [], feed: /** @type {any} */ (null), services: [], service: null, minutes: null, at: null, series: null, anomalies: [], streams: [], streamsAt: 0 };
let source = /** @type {EventSource | null} */ (null); // the open EventSource
let loading = new AbortController(); // ends the requests of a choice that was left

const path = (rest = "") => `/api/feeds/${encodeURIComponent(now.feed.name)}${rest}`;

/** @param {FeedInfo} feed */
function windows(feed) {
  return WINDOWS.map((intervals) => Math.round((intervals * feed.interval_seconds) / 60));
}

/** @param {number} minutes */
function inWords(minutes) {
  if (minutes < 60) return `${minutes} minutes`;
  if (minutes < 2880) return `${minutes / 60} hour${minutes === 60 ? "" : "s"}`;
  return `${Math.round((minutes / 1440) * 10) / 10} days`;
}

/** Takes the choice from the URL, shows it, and follows it. */
async function start() {
  now.feeds = await get("/api/feeds");
  const parameters = new URLSearchParams(location.search);
  const busiest = [...now.feeds].sort((a, b) => (b.newest_at ?? "").localeCompare(a.newest_at ?? "") || b.services - a.services)[0];
  const feed = now.feeds.find((each) => each.name === parameters.get("feed")) ?? busiest;
  const at = Date.parse(parameters.get("at") ?? "") ? parameters.get("at") : null;
  await choose({ feed, service: parameters.get("service"), minutes: Number(parameters.get("minutes")), at }, "replace");
}

/**
 * Changes the choice, the URL (push, replace or keep) and everything that follows from it.
 * @param {{ feed?: FeedInfo, service?: string | null, minutes?: number | null, at?: string | null }} choice
 */
async function choose({ feed = now.feed, service = now.service, minutes = now.minutes, at = now.at }, url = "push") {
  loading.abort();
  loading = new AbortController();
  source?.close();
  now.feed = feed;
  now.at = at;
  now.minutes = minutes !== null && windows(feed).includes(minutes) ? minutes : windows(feed)[1];
  const [services, list] = await Promise.all([get(path("/services"), loading.signal), get(path(`/anomalies?limit=${SHOWN_ANOMALIES}`), loading.signal)]);
  now.services = services.map((/** @type {ServiceInfo} */ each) => each.name);
  now.anomalies = list;
  now.service = service !== null && now.services.includes(service) ? service : (list[0]?.service ?? now.services[0] ?? null);
  const query = new URLSearchParams({ feed: feed.name, ...(now.service !== null && { service: now.service }), minutes: String(now.minutes), ...(at && { at }) });
  if (url !== "keep") history[url === "push" ? "pushState" : "replaceState"](null, "", `?${query}`);
  selectors();
  drawAnomalies();
  await Promise.all([loadSeries(true), loadState()]);
  follow();
}

function selectors() {
  /** @type {(pairs: (string | number)[][]) => HTMLElement[]} */
  const options = (pairs) => pairs.map(([value, text]) => make("option", { value, text }));
  byId("feed").replaceChildren(...options(now.feeds.map((each) => [each.name, each.name])));
  byId("service").replaceChildren(...options(now.services.length ? now.services.map((each) => [each, each]) : [["", "none yet"]]));
  selectById("service").disabled = !now.services.length;
  byId("window").replaceChildren(...options(windows(now.feed).map((each) => [each, inWords(each)])));
  selectById("feed").value = now.feed.name;
  selectById("service").value = now.service ?? "";
  selectById("window").value = String(now.minutes);
}

/** @param {boolean} redraw */
async function loadSeries(redraw) {
  byId("chart-title").textContent = now.service ?? now.feed.name;
  document.title = `${now.service ?? now.feed.name} · Sundial`;
  byId("chart-note").textContent = `${now.feed.description}. ${panels.ruleInWords(now.feed.rule)}.`;
  byId("key").hidden = now.service === null;
  panels.instant(now.at, now.feed);
  if (now.service === null) {
    chart.show(null);
    byId("figures").replaceChildren();
    empty(byId("chart-empty"), `No reading and no baseline of ${now.feed.name} yet. Start its stream and send it readings:`, `sundial replay FILE --feed ${now.feed.name}`);
    return;
  }
  const query = new URLSearchParams({ minutes: String(now.minutes), ...(now.at && { at: now.at }) });
  /** @type {Shown} */
  const series = { ...(await get(path(`/services/${encodeURIComponent(now.service)}/series?${query}`), loading.signal)), at: now.at };
  now.series = series;
  const nothing = !series.points.length && !series.expected.length;
  empty(byId("chart-empty"), nothing ? "No reading in this window, and no baseline that expects one. Choose a longer window, or send readings:" : null, nothing ? `sundial replay FILE --feed ${now.feed.name}` : null);
  if (redraw || !chart.plot) chart.show(nothing ? null : series);
  else chart.update(series);
  panels.figures(series);
}

async function loadState() {
  const paths = ["/api/streams", path("/baseline"), path(`/gate-results?limit=${SHOWN_GATE_RESULTS}`), "/health"];
  const [streams, baseline, judged, health] = await Promise.all(paths.map((each) => get(each, loading.signal)));
  now.streams = streams.filter((/** @type {StreamInfo} */ each) => each.feed === now.feed.name);
  now.streamsAt = Date.now();
  panels.streams(now.streams, 0, now.feed);
  panels.baseline(baseline, now.feed);
  gateResults(judged, now.feed);
  const kafka = health.kafka.state === "unreachable" ? health.remedies[0] : health.registry_error ? health.remedies.at(-1) : null;
  byId("problem").hidden = !kafka;
  byId("problem").textContent = kafka ?? "";
}

const drawAnomalies = () => panels.anomalies(now.anomalies, now.feed, now.service, ({ service, at }) => run(choose({ service, at: shown(at) ? now.at : at })));

/** @type {(at: string) => boolean} Whether the chart's window reaches to that instant already. */
const shown = (at) => now.series !== null && Date.parse(now.series.start) <= Date.parse(at) && Date.parse(at) <= Date.parse(now.series.end);

/** Follows the choice: new readings into the chart, new anomalies into the list. */
function follow() {
  const query = new URLSearchParams({ feed: now.feed.name, ...(now.service !== null && { service: now.service }) });
  source = new EventSource(`/api/events?${query}`);
  let opened = false;
  source.addEventListener("open", () => {
    connection("live", "Live");
    if (opened) run(reload()); // what came while the line was down
    opened = true;
  });
  source.addEventListener("error", () => connection("stale", "Reconnecting"));
  source.addEventListener("resync", () => run(reload()));
  source.addEventListener("scored", (event) => takePoint(JSON.parse(event.data)));
  source.addEventListener("anomaly", (event) => takeAnomaly(JSON.parse(event.data)));
}

/** @param {ScoredPoint} point */
function takePoint(point) {
  if (!now.series || now.at || point.service !== now.service) return;
  const { points, expected } = now.series;
  const at = Date.parse(point.at);
  let place = points.length;
  while (place > 0 && Date.parse(points[place - 1].at) > at) place -= 1;
  const replaces = place > 0 && Date.parse(points[place - 1].at) === at;
  points.splice(replaces ? place - 1 : place, replaces ? 1 : 0, point);
  const apart = 500 * now.series.interval_seconds;
  now.series.expected = expected.filter((each) => Math.abs(Date.parse(each.at) - at) >= apart);
  soon("series", () => {
    if (!now.series) return; // another choice was made
    if (now.series.live) slide(now.series);
    chart.update(now.series);
    panels.figures(now.series);
  });
}

/**
 * Moves a live window on to now.
 * @param {Shown} series
 */
function slide(series) {
  const by = Date.now() - Date.parse(series.end);
  for (const edge of /** @type {const} */ (["start", "end", "until"])) series[edge] = new Date(Date.parse(series[edge]) + by).toISOString();
  series.points = series.points.filter((each) => each.at >= series.start);
}

/** @param {AnomalyInfo} anomaly */
function takeAnomaly(anomaly) {
  const others = now.anomalies.filter((each) => each.at !== anomaly.at || each.service !== anomaly.service);
  now.anomalies = [anomaly, ...others].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, SHOWN_ANOMALIES);
  soon("anomalies", drawAnomalies);
}

const waiting = /** @type {Set<string>} */ (new Set());

/**
 * Draws at most once a frame, however many records come.
 * @param {string} what
 * @param {() => void} draw
 */
function soon(what, draw) {
  if (waiting.has(what)) return;
  waiting.add(what);
  requestAnimationFrame(() => {
    waiting.delete(what);
    draw();
  });
}

async function reload() {
  now.anomalies = await get(path(`/anomalies?limit=${SHOWN_ANOMALIES}`), loading.signal);
  drawAnomalies();
  await loadSeries(false);
}

/**
 * @param {string} state
 * @param {string} text
 */
function connection(state, text) {
  byId("connection").className = `pill ${state}`;
  byId("connection").textContent = text;
}

/**
 * Runs a load; what goes wrong is shown, except that it was left for another choice.
 * @param {Promise<void>} load
 */
async function run(load) {
  try {
    await load;
  } catch (caught) {
    const error = /** @type {Error} */ (caught);
    if (error.name === "AbortError") return;
    if (error instanceof TypeError) connection("dead", "Serving does not answer");
    byId("problem").hidden = false;
    byId("problem").textContent = error instanceof TypeError ? "Serving does not answer. Trying again; see `sundial status`." : error.message;
  }
}

byId("choice").addEventListener("submit", (event) => event.preventDefault());
selectById("feed").addEventListener("change", () => run(choose({ feed: now.feeds.find((each) => each.name === selectById("feed").value), service: null, minutes: null, at: null })));
selectById("service").addEventListener("change", () => run(choose({ service: selectById("service").value })));
selectById("window").addEventListener("change", () => run(choose({ minutes: Number(selectById("window").value) })));
byId("to-now").addEventListener("click", () => run(choose({ at: null })));
addEventListener("popstate", () => run(start()));
setInterval(() => now.feed && panels.streams(now.streams, (Date.now() - now.streamsAt) / 1000, now.feed), 1000);
setInterval(() => !document.hidden && run(now.feed ? loadState() : start()), STATE_SECONDS * 1000);
setInterval(() => !document.hidden && now.service !== null && run(loadSeries(false)), 30_000);
document.addEventListener("visibilitychange", () => !document.hidden && now.feed && run(reload()));
globalThis.sundial = { chart }; // for the browser's console and the tests
run(start());
