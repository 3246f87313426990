// The page of all incidents: what is chosen (kept in the URL), loading it, and following it live.

import { chooseDates } from "./dates.js";
import { byId, clockOf, count, empty } from "./dom.js";
import { soon } from "./frames.js";
import { asOf, showState, unlessSilent, verdict } from "./freshness.js";
import { follow, fromUrl, offer, parameters, passes, zoneOf } from "./incident_filter.js";
import { Lanes } from "./incident_lanes.js";
import { denied, IncidentRows, keyOf } from "./incident_rows.js";
import { failing, get, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { Meanwhile } from "./meanwhile.js";
import { incidentActs } from "./operator.js";
import { boundsOf, inWords } from "./ranges.js";
import { serverNow, takeTime } from "./server_time.js";
import { Stream } from "./stream.js";
import { onZone, putAddress } from "./zone.js";

/** @import { FeedInfo, Health, IncidentFilter, IncidentInfo } from "../page.d.ts" */

const HEALTH_SECONDS = 5;
const AGAIN_SECONDS = 10; // what people say of incidents is no event
const PAGE = 100; // incidents
const MOST = 500; // that one answer may have

/** `known`: the incidents of the last answers and those that came since, by key. `whole`: whether it has all that pass the filter. */
const now = {
  filter: fromUrl(),
  rows: PAGE,
  feeds: /** @type {Map<string, FeedInfo>} */ (new Map()),
  known: /** @type {Map<string, IncidentInfo>} */ (new Map()),
  pointed: /** @type {string | null} */ (null),
  health: /** @type {Health | null} */ (null),
  loadedAt: Number.NaN,
  whole: false,
  busy: false,
};
let loading = new AbortController(); // of what is chosen now
const newIncidents = /** @type {Meanwhile<IncidentInfo>} */ (new Meanwhile());

const reload = () => void run("incidents", load);
const actsOf = (/** @type {FeedInfo} */ feed) => incidentActs(feed, reload);
const list = new IncidentRows(byId("incidents"), actsOf);
const pointed = new IncidentRows(byId("pointed"), actsOf);
const lanes = new Lanes(byId("lanes"), (incident) => {
  now.pointed = keyOf(incident);
  soonDraw();
});
const stream = new Stream({ scored: () => {}, anomaly: () => {}, incident: take, resync: reload }, reload);

async function loadHealth() {
  const asked = performance.now();
  now.health = await get("/health");
  takeTime(/** @type {Health} */ (now.health).at, asked, performance.now());
}

/** Loads what is chosen, and all that is open. What was asked before is left. */
async function load() {
  loading.abort();
  const mine = new AbortController();
  loading = mine;
  now.busy = true;
  try {
    const [feeds] = await Promise.all([get("/api/feeds", mine.signal), now.health ?? loadHealth()]);
    if (mine.signal.aborted) return;
    now.feeds = new Map(feeds.map((/** @type {FeedInfo} */ each) => [each.name, each]));
    if (!now.feeds.has(now.filter.feed)) now.filter.feed = ""; // it is declared no longer
    const asked = parameters(now.filter);
    asked.set("limit", String(Math.min(now.rows + 1, MOST)));
    const [[open, found], came] = await newIncidents.since(Promise.all([`state=open&limit=${MOST}`, asked].map((each) => get(`/api/incidents?${each}`, mine.signal))));
    if (mine.signal.aborted) return;
    now.known = new Map([...open, ...found, ...came].map((each) => [keyOf(each), each]));
    now.whole = true;
    now.loadedAt = serverNow();
  } finally {
    if (loading === mine) now.busy = false;
  }
  draw();
}

/** @param {Partial<IncidentFilter>} change */
function choose(change) {
  now.filter = { ...now.filter, ...change };
  now.rows = PAGE;
  now.whole = false;
  putAddress(parameters(now.filter));
  draw();
  reload();
}

/** @param {IncidentInfo} incident */
function take(incident) {
  newIncidents.take(incident);
  now.known.set(keyOf(incident), incident);
  if (!now.feeds.has(incident.feed) && !now.busy) reload();
  soonDraw();
}

const soonDraw = () => soon("incidents", draw);

/** Open ones first, as serving orders them. @type {(a: IncidentInfo, b: IncidentInfo) => number} */
const inOrder = (a, b) => Number(a.end !== null) - Number(b.end !== null) || Date.parse(b.start) - Date.parse(a.start) || keyOf(a).localeCompare(keyOf(b));

function draw() {
  offer(now.filter, now.feeds);
  showFreshness();
  if (Number.isNaN(now.loadedAt)) return;
  const all = [...now.known.values()].filter((each) => now.feeds.has(each.feed));
  const passing = all.filter((each) => passes(each, now.filter)).sort(inOrder);
  const shown = passing.slice(0, now.rows);
  drawHeadline(all.filter((each) => each.end === null && each.group === null && !denied(each)));
  drawLanes(shown);
  list.show(shown, now.feeds);
  list.mark(now.pointed);
  empty(byId("incidents-empty"), shown.length ? null : nothing());
  byId("more").hidden = passing.length <= now.rows || now.rows >= MOST;
  const cut = passing.length >= MOST && now.rows >= MOST;
  byId("incidents-note").hidden = !cut;
  byId("incidents-note").textContent = cut ? `These are ${MOST}. There may be more: choose less.` : "";
}

function nothing() {
  if (!now.whole) return "Loading the incidents.";
  const { feed, search, state, kind } = now.filter;
  return feed || search || state || kind ? "No incident is so. Change the feed, the service, the state, the kind or the window." : "No incident in this window.";
}

/** @param {IncidentInfo[]} open */
function drawHeadline(open) {
  const feeds = new Set(open.map((each) => each.feed)).size;
  const text = open.length ? `${several(open.length, "open incident")} in ${several(feeds, "feed")}` : "No incident is open";
  if (byId("headline").textContent !== text) byId("headline").textContent = text;
  byId("overview").className = open.length ? "amiss" : "well";
  document.title = `${open.length ? `(${open.length}) ` : ""}Incidents · Sundial`;
}

/** @type {(number: number, what: string) => string} */
const several = (number, what) => `${number >= MOST ? "at least " : ""}${count(number)} ${what}${number === 1 ? "" : "s"}`;

/** @param {IncidentInfo[]} shown */
function drawLanes(shown) {
  const { filter, feeds } = now;
  const window = boundsOf(filter);
  const zone = zoneOf(filter, feeds);
  const [from, to] = window.map((at) => clockOf(zone).dated(at));
  byId("lanes-card").hidden = false;
  const text = filter.span ? `${from} to ${to} ${zone}.` : `The last ${inWords(filter.minutes)}, until now. Times of ${zone}.`;
  if (byId("shown").textContent !== text) byId("shown").textContent = text;
  byId("to-now").hidden = filter.span === null;
  lanes.show(shown, window, feeds, zone);
  byId("lanes-keys").hidden = !shown.length;
  pointed.show(shown.filter((each) => keyOf(each) === now.pointed), feeds);
}

/** Says whether the page is live, as of when it is, and what is wrong with serving. */
function showFreshness() {
  stream.watch();
  const failures = [...failing.values()];
  const said = verdict(stream, now.health, failures);
  showState(unlessSilent(said, [...now.feeds.values()].filter(({ name }) => !now.filter.feed || name === now.filter.feed)), now.health, failures);
  const at = asOf(stream, now.health, said[0], now.loadedAt);
  byId("as-of").hidden = !at;
  byId("as-of").textContent = at;
}

/** Loads at once what the page did not load while it was hidden or offline. */
function wake() {
  if (document.hidden) return;
  stream.hurry();
  run("health", loadHealth);
  reload();
}

follow(choose, () => chooseDates(boundsOf(now.filter), zoneOf(now.filter, now.feeds), 0, (span) => choose({ span })));
byId("more").addEventListener("click", () => {
  now.rows = Math.min(now.rows + PAGE, MOST);
  reload();
});
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
onZone(draw);
setInterval(draw, 1000); // ages count on
setInterval(() => void (document.hidden || run("health", loadHealth)), HEALTH_SECONDS * 1000);
setInterval(() => document.hidden || now.busy || reload(), AGAIN_SECONDS * 1000);
globalThis.sundial = { stream, lanes }; // for the browser's console and the tests
void run("login", showLogin).then(draw);
draw();
stream.follow("/api/events"); // before it loads, so that no incident is missed in between
reload();
