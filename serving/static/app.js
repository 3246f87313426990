// Sundial's page of one service: loading what is chosen, and following it live.

import { offerBeside } from "./beside.js";
import { Chart } from "./chart.js";
import { asked, chosen, follow, keep, offer, takePart, takeService } from "./choice.js";
import { chooseDates } from "./dates.js";
import { deadLetters } from "./dead_letters.js";
import { byId, empty } from "./dom.js";
import { earlier } from "./earlier.js";
import { late, mark, readingsAsOf, showState, verdict } from "./freshness.js";
import { parameters, valuesOf } from "./explore_lines.js";
import { soon } from "./frames.js";
import { gateResults } from "./gate.js";
import { incidents, withIncident } from "./incidents.js";
import { insert, slide } from "./live_series.js";
import { failing, get, onlyLoad, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { answering, incidentActs, offerSwitch, replaying, rollingBack } from "./operator.js";
import * as panels from "./panels.js";
import { around, byKey, sight, span, windowOf } from "./ranges.js";
import { serverNow, takeTime } from "./server_time.js";
import { Stream } from "./stream.js";

/** @import { AnomalyInfo, FeedInfo, Health, IncidentInfo, ScoredPoint, Series, ServiceInfo, Shown, Span, StreamInfo } from "../page.d.ts" */
/** @import { Choice } from "./choice.js" */

const STATE_SECONDS = 5;
const [SHOWN_ANOMALIES, SHOWN_INCIDENTS] = [100, 50];
const [SHOWN_VERSIONS, SHOWN_GATE_RESULTS] = [3, 3]; // the page of baselines has all

const chart = new Chart(byId("chart"), (from, to) => take({ span: span(from, to, chosen.feed.interval_seconds) }), () => take({ span: null }), lookAtIncident);
/**
 * What was loaded of what is chosen. `beside`: the series of the services beside it. `own`: the incidents of the service, also those
 * that a group has as members.
 * @type {{ series: Shown | null, beside: Shown[], loadedAt: number, anomalies: AnomalyInfo[], incidents: IncidentInfo[], own: IncidentInfo[], streams: StreamInfo[], stateAt: number, health: Health | null }}
 */
const now = { series: null, beside: [], loadedAt: Number.NaN, anomalies: [], incidents: [], own: [], streams: [], stateAt: Number.NaN, health: null };
const stream = new Stream({ scored: takePoint, anomaly: takeAnomaly, incident: takeIncident, resync: () => run("readings", reload) }, () => run("readings", reload));
let loading = new AbortController(); // ends the requests of a choice that was left

const path = (rest = "") => `/api/feeds/${encodeURIComponent(chosen.feed.name)}${rest}`;

/** Takes the choice from the URL, shows it, and follows it. */
async function start() {
  [chosen.feeds] = await Promise.all([get("/api/feeds"), loadHealth(), showLogin()]);
  await choose(asked(), "replace");
}

/**
 * Changes the choice, the URL (push or replace) and everything that follows from it.
 * @param {Choice} choice
 */
async function choose(choice, url = "push") {
  const { service = chosen.service, beside = chosen.beside } = choice;
  loading.abort();
  loading = new AbortController();
  onlyLoad("choice");
  stream.end();
  takePart(choice);
  const [services, list] = await Promise.all([get(path("/services"), loading.signal), loadFlagged()]);
  takeService(service, beside, services.map((/** @type {ServiceInfo} */ each) => each.name), list[0]?.service);
  keep(url);
  offer();
  drawFlagged();
  await Promise.all([loadSeries(true), loadOwn(), loadState()]);
  const followed = chosen.service === null ? [] : [chosen.service, ...chosen.beside];
  stream.follow(`/api/events?${new URLSearchParams([["feed", chosen.feed.name], ...followed.map((each) => ["service", each])])}`);
}

/** @type {(asked: Span | { minutes: string }, service?: string) => Promise<Series>} */
function seriesOf(asked, service = chosen.service ?? "") {
  const query = new URLSearchParams({ ...asked, width: String(chart.width) });
  return get(path(`/services/${encodeURIComponent(service)}/series?${query}`), loading.signal);
}

/** @param {boolean} redraw */
async function loadSeries(redraw) {
  byId("chart-title").textContent = chosen.service ?? chosen.feed.name;
  document.title = `${chosen.service ?? chosen.feed.name} · Sundial`;
  byId("chart-note").textContent = `${chosen.feed.description}. ${panels.ruleInWords(chosen.feed.rule)}.`;
  panels.span(chosen.span, chosen.feed);
  if (chosen.service === null) {
    [now.series, now.beside] = [null, []];
    chart.show(null);
    byId("key").hidden = byId("besides").hidden = true;
    byId("figures").replaceChildren();
    empty(byId("chart-empty"), `No reading and no baseline of ${chosen.feed.name} yet. Start its stream and send it readings:`, `sundial replay FILE --feed ${chosen.feed.name}`);
    return;
  }
  const asked = chosen.span ?? { minutes: String(chosen.minutes) };
  const loaded = await Promise.all([chosen.service, ...chosen.beside].map((each) => seriesOf(asked, each)));
  /** @type {Shown[]} */
  const [series, ...beside] = loaded.map((each) => ({ ...each, span: chosen.span, stale: false, late: 0 }));
  [now.series, now.beside] = [series, beside];
  now.loadedAt = serverNow();
  const nothing = series.newest === null && series.buckets.expected.every((each) => each === null);
  empty(byId("chart-empty"), nothing ? series.loading ? "No reading was found yet. Serving still reads what Kafka holds." : "No reading in this window, and no baseline that expects one. Choose a longer window, or send readings:" : null, nothing && !series.loading ? `sundial replay FILE --feed ${chosen.feed.name}` : null);
  byId("loading").hidden = !series.loading;
  byId("key").hidden = nothing && !series.span;
  byId("key-range").hidden = series.bucket_seconds === series.interval_seconds;
  offerBeside(beside, series, chosen.services, (services) => take({ beside: services }));
  const lines = [series, ...beside].map((each) => valuesOf(each.feed, each.service));
  byId("to-explore").setAttribute("href", `/explore?${parameters({ ...chosen, lines })}`);
  if (redraw || !chart.plot) chart.show(nothing && !series.span ? null : series, null, beside);
  else chart.update(series, beside);
  panels.figures(series);
  chart.compare(await earlier(chosen.comparison, series, seriesOf));
}

async function loadHealth() {
  const asked = performance.now();
  const health = await get("/health", loading.signal);
  takeTime(health.at, asked, performance.now());
  now.health = health;
}

async function loadState() {
  const paths = ["/api/feeds", "/api/streams", path(`/baseline?limit=${SHOWN_VERSIONS}`), path(`/gate-results?limit=${SHOWN_GATE_RESULTS}`)];
  const [[feeds, streams, baseline, judged]] = await Promise.all([Promise.all(paths.map((each) => get(each, loading.signal))), loadHealth()]);
  const others = feeds.map(named).join() !== chosen.feeds.map(named).join();
  chosen.feeds = feeds;
  if (others) offer(); // a feed was declared, or is no longer
  now.streams = streams.filter((/** @type {StreamInfo} */ each) => each.feed === chosen.feed.name);
  now.stateAt = serverNow();
  panels.streams(now.streams, 0, chosen.feed);
  const again = () => run("state", loadState);
  panels.baseline(baseline, chosen.feed, rollingBack(chosen.feed, again));
  gateResults(judged, chosen.feed, answering(chosen.feed, again), baseline.in_force);
  offerSwitch(now.streams, chosen.feed, again);
  const letters = now.health?.kafka.state === "connected" ? await get(path("/dead-letters"), loading.signal) : [];
  deadLetters(letters, chosen.feed, replaying(chosen.feed, again));
  showFreshness();
}

/** @type {(feed: FeedInfo) => string} */
const named = ({ name }) => name;

/** Says whether the page is live, what is as of when, and what is wrong. */
function showFreshness() {
  stream.watch();
  const failures = [...failing.values()];
  const [state, text] = verdict(stream, now.health, failures);
  showState([state, text], now.health, failures);
  if (!chosen.feed) return;
  const fresh = state === "live" || state === "waiting";
  mark("readings", fresh || Number.isNaN(now.loadedAt) ? null : readingsAsOf(stream, now.health, now.loadedAt), chosen.feed);
  mark("state", late(now.stateAt) ? now.stateAt : null, chosen.feed);
  panels.streams(now.streams, (serverNow() - now.stateAt) / 1000, chosen.feed);
  if (!now.series) return;
  panels.figures(now.series);
  if (now.series.stale === fresh) {
    now.series.stale = !fresh;
    chart.update(now.series);
  }
}

/** Anomalies and incidents of the feed; returns the anomalies. */
async function loadFlagged() {
  const paths = [`/anomalies?limit=${SHOWN_ANOMALIES}`, `/incidents?limit=${SHOWN_INCIDENTS}`];
  [now.anomalies, now.incidents] = await Promise.all(paths.map((each) => get(path(each), loading.signal)));
  return now.anomalies;
}

async function loadOwn() {
  const query = new URLSearchParams({ service: chosen.service ?? "", limit: String(SHOWN_INCIDENTS), ...(chosen.span ?? { minutes: String(chosen.minutes) }) });
  now.own = chosen.service === null ? [] : await get(path(`/incidents?${query}`), loading.signal);
  chart.mark(now.own);
}

/** Brings an incident into sight, from start to end. @param {IncidentInfo} incident */
function lookAtIncident(incident) {
  take({ service: incident.service, ...sight(incident, chosen.feed, serverNow()) });
}

/** @type {(service: string, at: string) => void} Chooses the service, around that instant if the chart does not show it already. */
const lookAt = (service, at) => take({ service, span: shown(at) ? chosen.span : around(at, chosen.minutes) });
const drawAnomalies = () => panels.anomalies(now.anomalies, chosen.feed, chosen.service, ({ service, at }) => lookAt(service, at));
const drawIncidents = () => incidents(now.incidents, chosen.feed, chosen.service, lookAtIncident, ({ service, start }) => lookAt(service, start), incidentActs(chosen.feed, () => run("readings", reload)));

function drawFlagged() {
  drawAnomalies();
  drawIncidents();
}

/** @type {(at: string) => boolean} Whether the chart's window reaches to that instant already. */
const shown = (at) => now.series !== null && Date.parse(now.series.start) <= Date.parse(at) && Date.parse(at) <= Date.parse(now.series.end);

/** @param {ScoredPoint} point */
function takePoint(point) {
  const its = now.series && [now.series, ...now.beside].find((each) => each.service === point.service);
  if (!its || chosen.span) return;
  insert(its, point);
  soon("series", () => {
    if (!now.series) return; // another choice was made
    for (const each of [now.series, ...now.beside]) if (each.live) slide(each);
    chart.update(now.series);
    panels.figures(now.series);
  });
}

/** @param {AnomalyInfo} anomaly */
function takeAnomaly(anomaly) {
  const others = now.anomalies.filter((each) => each.at !== anomaly.at || each.service !== anomaly.service);
  now.anomalies = [anomaly, ...others].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, SHOWN_ANOMALIES);
  soon("anomalies", drawAnomalies);
}

/** @param {IncidentInfo} incident */
function takeIncident(incident) {
  now.incidents = withIncident(now.incidents, incident).slice(0, SHOWN_INCIDENTS);
  soon("incidents", drawIncidents);
  if (incident.service !== chosen.service) return;
  now.own = [incident, ...now.own.filter((each) => each.id !== incident.id)];
  soon("own", () => chart.mark(now.own));
}

async function reload() {
  await Promise.all([loadFlagged(), loadOwn()]);
  drawFlagged();
  await loadSeries(false);
}

/** @type {(choice: Choice) => void} */
const take = (choice) => void run("choice", () => choose(choice));

follow(take, () => now.series && chooseDates(windowOf(now.series), chosen.feed.timezone, (span) => take({ span })));
byId("chart").addEventListener("keydown", ({ key }) => {
  const wanted = now.series && byKey(key, windowOf(now.series), now.series.interval_seconds);
  if (wanted) take({ span: wanted === "now" ? null : wanted });
});
addEventListener("popstate", () => run("choice", start));
setInterval(showFreshness, 1000);
setInterval(() => !document.hidden && chosen.feed && run("state", loadState), STATE_SECONDS * 1000);
setInterval(() => !document.hidden && now.series?.loading && run("series", () => loadSeries(false)), STATE_SECONDS * 1000);
setInterval(() => !document.hidden && chosen.service !== null && run("series", () => loadSeries(false)), 30_000);

/** Loads at once what the page did not load while it was hidden or offline. */
function wake() {
  if (document.hidden || !chosen.feed) return;
  stream.hurry();
  run("state", loadState);
  run("readings", reload);
}
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
globalThis.sundial = { chart, stream }; // for the browser's console and the tests
run("choice", start);
