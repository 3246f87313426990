// Sundial's page of one service: loading what is chosen, and following it live.

import { offerBeside } from "./beside.js";
import { Chart } from "./chart.js";
import { asked, chosen, follow, keep, offer, offerFeeds, path, takePart, takeService } from "./choice.js";
import { chooseDates } from "./dates.js";
import { byId, empty } from "./dom.js";
import { earlier } from "./earlier.js";
import { late, mark, readingsAsOf, showState, unlessSilent, verdict } from "./freshness.js";
import { parameters, valuesOf } from "./explore_lines.js";
import { Flagged } from "./flagged.js";
import { soon } from "./frames.js";
import { insert, slide } from "./live_series.js";
import { failing, get, getAll, onlyLoad, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { Meanwhile } from "./meanwhile.js";
import * as panels from "./panels.js";
import { around, byKey, sight, span, windowOf } from "./ranges.js";
import { serverNow, takeTime } from "./server_time.js";
import { drawPanels, isPanel, loadPanels, showPanels, stateAt } from "./state_panels.js";
import { Stream } from "./stream.js";
import { onZone, shownZone } from "./zone.js";

/** @import { Health, IncidentInfo, ScoredPoint, Series, ServiceInfo, Shown, Span } from "../page.d.ts" */
/** @import { Choice } from "./choice.js" */

const STATE_SECONDS = 5;
const SAID_SECONDS = 10; // what people say of incidents is no event

const chart = new Chart(byId("chart"), (from, to) => take({ span: span(from, to, chosen.feed.interval_seconds) }), () => take({ span: null }), lookAtIncident);
/**
 * What was loaded of what is chosen. `beside`: the series of the services beside it. `settled`: whether the service is chosen among
 * those of the feed. `whole`: whether the chart is of what is chosen, and only has to be kept up. `lacks`: the feed that is asked for
 * and is not declared.
 * @type {{ series: Shown | null, beside: Shown[], loadedAt: number, settled: boolean, whole: boolean, lacks: string | null, health: Health | null }}
 */
const now = { series: null, beside: [], loadedAt: Number.NaN, settled: false, whole: false, lacks: null, health: null };
const newPoints = /** @type {Meanwhile<ScoredPoint>} */ (new Meanwhile());
const flagged = new Flagged({ left: () => loading.signal, lookAt, lookAtIncident, chart });
const stream = new Stream({ scored: takePoint, anomaly: (each) => flagged.takeAnomaly(each), incident: (each) => flagged.takeIncident(each), resync: reload }, reload);
let loading = new AbortController(); // ends the requests of a choice that was left

/** Takes the choice from the URL, shows it, and follows it. */
async function start() {
  [chosen.feeds] = await Promise.all([get("/api/feeds"), loadHealth(), showLogin()]);
  const wanted = asked();
  if (wanted.feed) await choose(wanted, "replaceState");
  else lackFeed(new URLSearchParams(location.search).get("feed") || "at all");
}

/** Says that there is no such feed. The choice stays. @param {string} feed */
function lackFeed(feed) {
  if (now.lacks === feed) return;
  leave(feed);
  chosen.feed = /** @type {any} */ (null);
  offerFeeds(feed);
  drawNothing(feed);
  panels.lackFeed(feed);
}

/** Ends what was begun for another choice. @param {string | null} lacks the feed that is asked for and is not declared */
function leave(lacks = null) {
  loading.abort();
  loading = new AbortController();
  onlyLoad("choice");
  stream.end();
  now.settled = now.whole = false;
  now.lacks = lacks;
  byId("chart-card").classList.toggle("alone", lacks !== null);
}

/**
 * Changes the choice, the URL and everything that follows from it.
 * @param {Choice} choice
 * @param {"pushState" | "replaceState"} how
 */
async function choose(choice, how = "pushState") {
  const { service = chosen.service, beside = chosen.beside } = choice;
  leave();
  if (choice.feed && choice.feed.name !== chosen.feed?.name) flagged.forget();
  takePart(choice);
  loadState();
  const [services] = await Promise.all([loadServices(), flagged.loadAnomalies()]);
  takeService(service, beside, services, flagged.anomalies[0]?.service);
  keep(how);
  offer();
  flagged.draw();
  now.settled = true;
  reload();
  const followed = chosen.service !== null && chosen.known ? [chosen.service, ...chosen.beside] : [];
  stream.follow(`/api/events?${new URLSearchParams([["feed", chosen.feed.name], ...followed.map((each) => ["service", each])])}`, true);
}

/** @returns {Promise<string[]>} */
const loadServices = async () => (await getAll(path("/services"), loading.signal)).map((/** @type {ServiceInfo} */ each) => each.name);

/** Shows the service that did not exist as soon as it does; if none was chosen, the first one. */
async function lookAgain() {
  const services = await loadServices();
  if (chosen.service === null ? services.length : services.includes(chosen.service)) take({});
}

/** @type {(asked: Span | { minutes: string }, service?: string) => Promise<Series>} */
function seriesOf(asked, service = chosen.service ?? "") {
  const query = new URLSearchParams({ ...asked, width: String(chart.width) });
  return get(path(`/services/${encodeURIComponent(service)}/series?${query}`), loading.signal);
}

async function loadSeries() {
  byId("chart-note").textContent = `${chosen.feed.description}. ${panels.ruleInWords(chosen.feed.rule)}.`;
  panels.span(chosen.span, chosen.feed);
  if (chosen.service === null || !chosen.known) {
    drawNothing(chosen.service ?? chosen.feed.name);
    return panels.lackService(chosen.feed, chosen.service, !now.health?.kafka.as_of);
  }
  panels.name(chosen.service);
  const asked = chosen.span ?? { minutes: String(chosen.minutes) };
  const [loaded, points] = await newPoints.since(Promise.all([chosen.service, ...chosen.beside].map((each) => seriesOf(asked, each))));
  /** @type {Shown[]} */
  const [series, ...beside] = loaded.map((each) => ({ ...each, span: chosen.span, stale: false, late: 0 }));
  [now.series, now.beside] = [series, beside];
  points.forEach(put);
  now.loadedAt = serverNow();
  const nothing = series.newest === null && series.buckets.expected.every((each) => each === null);
  empty(byId("chart-empty"), nothing ? series.loading ? "No reading was found yet. Serving still reads what Kafka holds." : "No reading in this window, and no baseline that expects one. Choose a longer window, or send readings:" : null, nothing && !series.loading ? `sundial replay FILE --feed ${chosen.feed.name}` : null);
  byId("loading").hidden = !series.loading;
  byId("key").hidden = nothing && !series.span;
  byId("key-range").hidden = series.bucket_seconds === series.interval_seconds;
  offerBeside(beside, series, chosen.services, (services) => take({ beside: services }));
  const lines = [series, ...beside].map((each) => valuesOf(each.feed, each.service));
  byId("to-explore").setAttribute("href", `/explore?${parameters({ ...chosen, lines })}`);
  if (now.whole && chart.plot) chart.update(series, beside);
  else chart.show(nothing && !series.span ? null : series, null, beside);
  now.whole = true;
  panels.figures(series);
  chart.compare(await earlier(chosen.comparison, series, seriesOf));
}

/** Shows no chart. @param {string} name of what it would be */
function drawNothing(name) {
  [now.series, now.beside] = [null, []];
  chart.show(null);
  panels.noChart(name);
}

async function loadHealth() {
  const asked = performance.now();
  const health = await get("/health", loading.signal);
  takeTime(health.at, asked, performance.now());
  now.health = health;
}

function loadState() {
  void run("health", loadHealth);
  loadPanels(loading.signal, now.health, loadState);
}

/** Says whether the page is live, what is as of when, and what is wrong. */
function showFreshness() {
  stream.watch();
  const failures = [...failing.values()];
  showState(now.lacks !== null && !failures.length ? ["waiting", "No such feed"] : unlessSilent(verdict(stream, now.health, failures), chosen.feed ? [chosen.feed] : []), now.health, failures);
  if (!chosen.feed) return;
  showPanels();
  const [state] = verdict(stream, now.health, [...failing].flatMap(([name, error]) => (isPanel(name) ? [] : [error])));
  const fresh = state === "live" || state === "waiting";
  mark("readings", fresh || Number.isNaN(now.loadedAt) ? null : readingsAsOf(stream, now.health, now.loadedAt), chosen.feed);
  mark("state", late(stateAt()) ? stateAt() : null, chosen.feed);
  if (!now.series) return;
  panels.figures(now.series);
  if (now.series.stale === fresh) {
    now.series.stale = !fresh;
    chart.update(now.series);
  }
}

/** Brings an incident into sight, from start to end. @param {IncidentInfo} incident */
function lookAtIncident(incident) {
  take({ service: incident.service, ...sight(incident, chosen.feed, serverNow()) });
}

/** Chooses the service, around that instant if the chart does not show it already. @type {(service: string, at: string) => void} */
function lookAt(service, at) {
  take({ service, span: shown(at) ? chosen.span : around(at, chosen.minutes) });
}

/** @type {(at: string) => boolean} Whether the chart's window reaches to that instant already. */
const shown = (at) => now.series !== null && Date.parse(now.series.start) <= Date.parse(at) && Date.parse(at) <= Date.parse(now.series.end);

/** @param {ScoredPoint} point */
function takePoint(point) {
  newPoints.take(point);
  if (!put(point)) return;
  soon("series", () => {
    if (!now.series) return; // another choice was made
    for (const each of [now.series, ...now.beside]) if (each.live) slide(each);
    chart.update(now.series);
    panels.figures(now.series);
  });
}

/** Puts a reading into the series that it is of; whether it is in the chart. @param {ScoredPoint} point */
function put(point) {
  const its = now.series && [now.series, ...now.beside].find((each) => each.service === point.service);
  if (!its || chosen.span) return false;
  insert(its, point);
  return true;
}

/** Loads each part by itself, so that one that fails stops no other. */
function reload() {
  if (!now.settled) return; // it begins by itself
  flagged.load();
  void run("series", loadSeries);
}

/** Writes all times afresh. */
function drawTimes() {
  if (!chosen.feed) return;
  chart.again();
  panels.span(chosen.span, chosen.feed);
  flagged.draw();
  drawPanels(loadState);
  showFreshness();
}

/** @type {(choice: Choice) => void} */
const take = (choice) => void run("choice", () => choose(choice));

follow(take, () => now.series && chooseDates(windowOf(now.series), shownZone(chosen.feed.timezone), chosen.feed.interval_seconds, (span) => take({ span })));
byId("chart").addEventListener("keydown", ({ key }) => {
  const wanted = now.series && byKey(key, windowOf(now.series), now.series.interval_seconds);
  if (wanted) take({ span: wanted === "now" ? null : wanted });
});
addEventListener("popstate", () => run("choice", start));
onZone(drawTimes);
setInterval(showFreshness, 1000);
every(STATE_SECONDS, () => chosen.feed && loadState());
every(STATE_SECONDS, () => now.settled && now.series?.loading && run("series", loadSeries));
every(SAID_SECONDS, () => now.settled && flagged.load());
every(STATE_SECONDS, () => now.lacks !== null && run("choice", start));
every(STATE_SECONDS, () => now.settled && !chosen.known && run("services", lookAgain));
every(30, () => now.settled && run("series", loadSeries));

/** Again and again while the page is seen. @type {(seconds: number, load: () => void) => void} */
function every(seconds, load) {
  setInterval(() => document.hidden || load(), 1000 * seconds);
}

/** Loads at once what the page did not load while it was hidden or offline. */
function wake() {
  if (document.hidden || !chosen.feed) return;
  stream.hurry();
  loadState();
  reload();
}
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
globalThis.sundial = { chart, stream }; // for the browser's console and the tests
run("choice", start);
