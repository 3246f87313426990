// Sundial's page: what is chosen (kept in the URL), loading it, and following it live.

import { Chart } from "./chart.js";
import { byId, empty, get, make } from "./dom.js";
import { gateResults } from "./gate.js";
import * as panels from "./panels.js";

const WINDOWS = [90, 360, 1440]; // in intervals: 15 minutes, 1 hour, 4 hours at ten seconds
const STATE_SECONDS = 5;
const SHOWN_ANOMALIES = 100;
const SHOWN_GATE_RESULTS = 10;

const chart = new Chart(byId("chart"));
const now = { feeds: [], feed: null, services: [], service: null, minutes: null, at: null, series: null, anomalies: [], streams: [], streamsAt: 0 };
let source = null; // the open EventSource
let loading = new AbortController(); // ends the requests of a choice that was left

const path = (rest = "") => `/api/feeds/${encodeURIComponent(now.feed.name)}${rest}`;

function windows(feed) {
  return WINDOWS.map((intervals) => Math.round((intervals * feed.interval_seconds) / 60));
}

function inWords(minutes) {
  if (minutes < 60) return `${minutes} minutes`;
  if (minutes < 2880) return `${minutes / 60} hour${minutes === 60 ? "" : "s"}`;
  return `${Math.round((minutes / 1440) * 10) / 10} days`;
}

/** Takes the choice from the URL, shows it, and follows it. */
async function start() {
  now.feeds = await get("/api/feeds");
  const asked = new URLSearchParams(location.search);
  const busiest = [...now.feeds].sort((a, b) => (b.newest_at ?? "").localeCompare(a.newest_at ?? "") || b.services - a.services)[0];
  const feed = now.feeds.find((each) => each.name === asked.get("feed")) ?? busiest;
  const at = Date.parse(asked.get("at")) ? asked.get("at") : null;
  await choose({ feed, service: asked.get("service"), minutes: Number(asked.get("minutes")), at }, "replace");
}

/** Changes the choice, the URL (push, replace or keep) and everything that follows from it. */
async function choose({ feed = now.feed, service = now.service, minutes = now.minutes, at = now.at }, url = "push") {
  loading.abort();
  loading = new AbortController();
  source?.close();
  now.feed = feed;
  now.at = at;
  now.minutes = windows(feed).includes(minutes) ? minutes : windows(feed)[1];
  const [services, list] = await Promise.all([get(path("/services"), loading.signal), get(path(`/anomalies?limit=${SHOWN_ANOMALIES}`), loading.signal)]);
  now.services = services.map((each) => each.name);
  now.anomalies = list;
  now.service = now.services.includes(service) ? service : (list[0]?.service ?? now.services[0] ?? null);
  const query = new URLSearchParams({ feed: feed.name, ...(now.service !== null && { service: now.service }), minutes: now.minutes, ...(at && { at }) });
  if (url !== "keep") history[url === "push" ? "pushState" : "replaceState"](null, "", `?${query}`);
  selectors();
  drawAnomalies();
  await Promise.all([loadSeries(true), loadState()]);
  follow();
}

function selectors() {
  const options = (pairs) => pairs.map(([value, text]) => make("option", { value, text }));
  byId("feed").replaceChildren(...options(now.feeds.map((each) => [each.name, each.name])));
  byId("service").replaceChildren(...options(now.services.length ? now.services.map((each) => [each, each]) : [["", "none yet"]]));
  byId("service").disabled = !now.services.length;
  byId("window").replaceChildren(...options(windows(now.feed).map((each) => [each, inWords(each)])));
  byId("feed").value = now.feed.name;
  byId("service").value = now.service ?? "";
  byId("window").value = now.minutes;
}

async function loadSeries(anew) {
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
  const query = new URLSearchParams({ minutes: now.minutes, ...(now.at && { at: now.at }) });
  now.series = { ...(await get(path(`/services/${encodeURIComponent(now.service)}/series?${query}`), loading.signal)), at: now.at };
  const nothing = !now.series.points.length && !now.series.expected.length;
  empty(byId("chart-empty"), nothing ? "No reading in this window, and no baseline that expects one. Choose a longer window, or send readings:" : null, nothing ? `sundial replay FILE --feed ${now.feed.name}` : null);
  if (anew || !chart.plot) chart.show(nothing ? null : now.series);
  else chart.update(now.series);
  panels.figures(now.series);
}

async function loadState() {
  const asked = ["/api/streams", path("/baseline"), path(`/gate-results?limit=${SHOWN_GATE_RESULTS}`), "/health"];
  const [streams, baseline, judged, health] = await Promise.all(asked.map((each) => get(each, loading.signal)));
  now.streams = streams.filter((each) => each.feed === now.feed.name);
  now.streamsAt = Date.now();
  panels.streams(now.streams, 0);
  panels.baseline(baseline, now.feed);
  gateResults(judged, now.feed);
  const kafka = health.kafka.state === "unreachable" ? health.remedies[0] : health.registry_error ? health.remedies.at(-1) : null;
  byId("problem").hidden = !kafka;
  byId("problem").textContent = kafka ?? "";
}

const drawAnomalies = () => panels.anomalies(now.anomalies, now.feed, now.service, ({ service, at }) => run(choose({ service, at: shown(at) ? now.at : at })));

/** Whether the chart's window reaches to that instant already. */
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

function takePoint(point) {
  if (!now.series || now.at || point.service !== now.service) return;
  const { points, expected } = now.series;
  const at = Date.parse(point.at);
  let place = points.length;
  while (place > 0 && Date.parse(points[place - 1].at) > at) place -= 1;
  const replaces = place > 0 && Date.parse(points[place - 1].at) === at;
  points.splice(replaces ? place - 1 : place, replaces ? 1 : 0, point);
  now.series.expected = expected.filter((each) => Math.abs(Date.parse(each.at) - at) >= 500 * now.series.interval_seconds);
  soon("series", () => {
    if (now.series.live) slide(now.series);
    chart.update(now.series);
    panels.figures(now.series);
  });
}

/** Moves a live window on to now. */
function slide(series) {
  const by = Date.now() - Date.parse(series.end);
  for (const edge of ["start", "end", "until"]) series[edge] = new Date(Date.parse(series[edge]) + by).toISOString();
  series.points = series.points.filter((each) => each.at >= series.start);
}

function takeAnomaly(anomaly) {
  const others = now.anomalies.filter((each) => each.at !== anomaly.at || each.service !== anomaly.service);
  now.anomalies = [anomaly, ...others].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, SHOWN_ANOMALIES);
  soon("anomalies", drawAnomalies);
}

const waiting = new Set();

/** Draws at most once a frame, however many records come. */
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

function connection(state, text) {
  byId("connection").className = `pill ${state}`;
  byId("connection").textContent = text;
}

/** Runs a load; what goes wrong is shown, except that it was left for another choice. */
async function run(load) {
  try {
    await load;
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error instanceof TypeError) connection("dead", "Serving does not answer");
    byId("problem").hidden = false;
    byId("problem").textContent = error instanceof TypeError ? "Serving does not answer. Trying again; see `sundial status`." : error.message;
  }
}

byId("choice").addEventListener("submit", (event) => event.preventDefault());
byId("feed").addEventListener("change", (event) => run(choose({ feed: now.feeds.find((each) => each.name === event.target.value), service: null, minutes: null, at: null })));
byId("service").addEventListener("change", (event) => run(choose({ service: event.target.value })));
byId("window").addEventListener("change", (event) => run(choose({ minutes: Number(event.target.value) })));
byId("to-now").addEventListener("click", () => run(choose({ at: null })));
addEventListener("popstate", () => run(start()));
setInterval(() => panels.streams(now.streams, (Date.now() - now.streamsAt) / 1000), 1000);
setInterval(() => !document.hidden && run(now.feed ? loadState() : start()), STATE_SECONDS * 1000);
setInterval(() => !document.hidden && now.service !== null && run(loadSeries(false)), 30_000);
document.addEventListener("visibilitychange", () => !document.hidden && now.feed && run(reload()));
globalThis.sundial = { chart }; // for the browser's console and the tests
run(start());
