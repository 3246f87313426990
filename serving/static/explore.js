// The page of a chart of one's own: what is chosen (kept in the URL), loading it, and following it live.

import { chooseDates } from "./dates.js";
import { byId, clockOf, empty, withUtc } from "./dom.js";
import { LinesChart } from "./explore_chart.js";
import { csvOf, pngOf, save } from "./explore_files.js";
import { followForm, limit, offerSources } from "./explore_form.js";
import { fromUrl, idOf, MOST, parameters } from "./explore_lines.js";
import { LineList } from "./explore_list.js";
import { Loading } from "./explore_loading.js";
import { soon } from "./frames.js";
import { amiss, asOf, showState, unlessSilent, verdict } from "./freshness.js";
import { failing, get, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { around, boundsOf, byKey, inWords, RANGES, span } from "./ranges.js";
import { takeTime } from "./server_time.js";
import { Stream } from "./stream.js";
import { followWindow, offerWindow } from "./window_choice.js";
import { onZone, putAddress, shownZone } from "./zone.js";

/** @import { ChartLine, Columns, FeedInfo, Health, OwnChart, ScoredPoint } from "../page.d.ts" */

const [HEALTH_SECONDS, SOURCES_SECONDS] = [5, 10];

const now = {
  asked: fromUrl(),
  tables: /** @type {Columns[]} */ ([]),
  feeds: /** @type {Map<string, FeedInfo>} */ (new Map()),
  health: /** @type {Health | null} */ (null),
};
const chart = new LinesChart(byId("chart"), (from, to) => choose({ span: span(from, to, chart.interval) }), () => choose({ span: null }), () => soon("list", drawList));
const list = new LineList(
  byId("lines"),
  (id) => choose({ lines: now.asked.lines.filter((each) => idOf(each) !== id) }),
  (id, right) => choose({ lines: now.asked.lines.map((each) => (idOf(each) === id ? { ...each, right } : each)) }),
);
const loading = new Loading(() => boundsOf(now.asked), () => chart.width, soonDraw);
const stream = new Stream({ scored: take, anomaly: () => {}, incident: () => {}, resync: () => loading.all() }, () => loading.all());

async function loadHealth() {
  const [first, asked] = [now.health === null, performance.now()];
  now.health = await get("/health");
  takeTime(/** @type {Health} */ (now.health).at, asked, performance.now());
  if (first) choose({ lines: now.asked.lines }, "replaceState");
}

async function loadSources() {
  const [feeds, queries] = await Promise.all([get("/api/feeds"), get("/api/queries")]);
  now.feeds = new Map(feeds.map((/** @type {FeedInfo} */ each) => [each.name, each]));
  offerSources(feeds, queries);
}

/** @type {(change: Partial<OwnChart>, how?: "pushState" | "replaceState") => void} */
function choose(change, how = "pushState") {
  now.asked = { ...now.asked, ...change };
  putAddress(parameters(now.asked), how);
  say("");
  show(!change.lines);
}

/** Shows what is chosen. @param {boolean} window whether in another window than before */
function show(window) {
  if (now.health === null) return; // until the server's time is known, no window is
  if (window) loading.forget();
  loading.keepUp(now.asked.lines);
  draw();
}

/** Goes where the browser went in the history of the page. */
function goBack() {
  now.asked = fromUrl();
  show(true);
}

/** @param {ChartLine} line */
function add(line) {
  const { lines } = now.asked;
  if (lines.some((each) => idOf(each) === idOf(line))) return say("The chart has this line already.");
  if (lines.length < MOST) choose({ lines: [...lines, line] });
}

/** @param {ScoredPoint} point */
function take(point) {
  if (loading.take(point)) soonDraw();
}

function soonDraw() {
  soon("chart", draw);
}

/** If none is chosen, that of the feeds, and UTC of tables; UTC if there are several. */
function zone() {
  const zones = new Set(now.asked.lines.map((line) => (line.of === "feed" && now.feeds.get(line.source)?.timezone) || "UTC"));
  return shownZone(zones.size === 1 ? [...zones][0] : "UTC");
}

/** Only what lies in the window. @type {(table: Columns, window: number[]) => Columns} */
function cut([seconds, ...columns], [from, to]) {
  const places = seconds.flatMap((at, index) => (at !== null && 1000 * at >= from && 1000 * at <= to ? [index] : []));
  return [seconds, ...columns].map((column) => places.map((place) => column[place]));
}

function draw() {
  offerWindow(RANGES, now.asked);
  limit(now.asked.lines.length >= MOST);
  followReadings();
  showFreshness();
  if (now.health === null) return;
  const { lines } = now.asked;
  const window = boundsOf(now.asked);
  now.tables = lines.map((line) => cut(loading.of(line).source.columns(line), window));
  const some = now.tables.some(([, ...columns]) => columns.some((column) => column.some((each) => each !== null)));
  const interval = Math.max(0, ...lines.map((line) => loading.of(line).source.interval));
  chart.show({ lines: some ? lines : [], tables: now.tables, window, zone: zone(), interval });
  byId("shown").textContent = inWordsOf(window);
  byId("to-now-part").hidden = now.asked.span === null;
  for (const id of ["csv", "png"]) /** @type {HTMLButtonElement} */ (byId(id)).disabled = !some;
  byId("hint").hidden = !some;
  drawNothing(some);
  drawList();
}

/** @param {number[]} window */
function inWordsOf(window) {
  const [from, to] = window.map((at) => clockOf(zone()).dated(at));
  return now.asked.span ? `${from} to ${to} ${zone()}.` : `The last ${inWords(now.asked.minutes)}, until now. Times of ${zone()}.`;
}

/** Says why the chart is empty, and offers to go where the newest readings are. @param {boolean} some whether it is not */
function drawNothing(some) {
  const { lines } = now.asked;
  const states = lines.map((line) => loading.state(line));
  const [waits, lost] = [states.includes("loading"), states.every((each) => each === "failed")];
  const text = some ? "" : !lines.length ? "No line is chosen. Add one above." : waits ? "Loading …" : lost ? "No line could be loaded." : "No line has a value in this window.";
  if (byId("chart-empty").textContent !== text) empty(byId("chart-empty"), text); // a screen reader says what is changed
  const newest = lines.flatMap(({ of, source }) => (of === "feed" && now.feeds.get(source)?.newest_at) || []).sort().at(-1);
  byId("to-newest-line").hidden = some || waits || lost || !newest;
  byId("to-newest").textContent = newest ? `Show the newest readings, of ${clockOf(zone()).dated(newest)}` : "";
  byId("to-newest").onclick = () => newest && choose({ span: around(newest, now.asked.minutes) });
}

function drawList() {
  const rows = now.asked.lines.flatMap((line, place) => {
    const table = now.tables[place];
    return table ? [{ line, table, state: loading.state(line), note: loading.note(line) }] : [];
  });
  const { pointed } = chart;
  list.show(rows, pointed, zone());
  byId("at").hidden = pointed === null;
  byId("at").textContent = pointed === null ? "" : withUtc(1000 * pointed, zone());
}

/** Follows the services of one feed; the events of all feeds if there are several. */
function followReadings() {
  const [first, ...others] = loading.readings();
  if (!first && stream.path !== null) stream.end();
  if (!first) return;
  const one = others.every(({ feed }) => feed === first.feed);
  const path = one ? `/api/events?${new URLSearchParams([["feed", first.feed], ...[first, ...others].map(({ service }) => ["service", service])])}` : "/api/events";
  if (path !== stream.path) stream.follow(path, true);
}

/** Says whether the page is live, as of when it is, and what is wrong. */
function showFreshness() {
  stream.watch();
  const failures = [...failing.values()];
  const read = [...new Set(loading.readings().map(({ feed }) => feed))];
  const said = read.length ? verdict(stream, now.health, failures) : withoutReadings(failures);
  showState(read.length ? unlessSilent(said, read.flatMap((feed) => now.feeds.get(feed) ?? [])) : said, now.health, failures);
  const at = asOf(stream, now.health, said[0], read.length ? loading.at : Number.NaN);
  byId("as-of").hidden = !at;
  byId("as-of").textContent = at;
}

/** @param {Error[]} failures */
function withoutReadings(failures) {
  if (!now.asked.lines.length && !failures.length) return ["waiting", "Nothing chosen"];
  const said = amiss(now.health, failures);
  if (said) return said;
  return now.asked.lines.every((line) => loading.state(line) === "loaded") ? ["live", "Live"] : ["waiting", "Connecting"];
}

/** @type {(text: string) => void} */
const say = (text) => void (byId("done").textContent = text);

async function copy() {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say("This browser does not let the page copy. The address of the page is the link.");
  }
}

async function savePicture() {
  const picture = chart.plot && (await pngOf(chart.plot.ctx.canvas, `Sundial · ${inWordsOf(boundsOf(now.asked))}`, now.asked.lines));
  if (picture) save(picture, "sundial.png");
}

/** Loads at once what the page did not load while it was hidden or offline. */
function wake() {
  if (document.hidden || now.health === null) return;
  stream.hurry();
  run("health", loadHealth);
  loading.all();
}

followForm(add);
followWindow(choose, () => chooseDates(boundsOf(now.asked), zone(), chart.interval, (span) => choose({ span })));
byId("choice").addEventListener("submit", (event) => event.preventDefault());
byId("copy").addEventListener("click", copy);
byId("csv").addEventListener("click", () => save(new Blob([csvOf(now.asked.lines, now.tables, zone())], { type: "text/csv" }), "sundial.csv"));
byId("png").addEventListener("click", savePicture);
byId("chart").addEventListener("keydown", ({ key }) => {
  const wanted = chart.plot && byKey(key, chart.window, chart.interval);
  if (wanted) choose({ span: wanted === "now" ? null : wanted });
});
addEventListener("popstate", goBack);
onZone(draw);
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
setInterval(draw, 1000); // the window moves on
setInterval(() => void (document.hidden || run("health", loadHealth)), HEALTH_SECONDS * 1000);
setInterval(() => void (document.hidden || run("sources", loadSources)), SOURCES_SECONDS * 1000);
globalThis.sundial = { chart, stream }; // for the browser's console and the tests
void run("login", showLogin);
void run("sources", loadSources).then(draw);
void run("health", loadHealth);
