// The page of all services: what is searched for (kept in the URL), loading it, and following it live.

import { age, byId, count, empty } from "./dom.js";
import { lines, passing } from "./fleet_lines.js";
import { FleetList } from "./fleet_list.js";
import { FleetState } from "./fleet_state.js";
import { STATUSES, wrong } from "./fleet_status.js";
import { soon } from "./frames.js";
import { asOf, showState, unlessSilent, verdict } from "./freshness.js";
import { failing, get, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { serverNow, takeTime } from "./server_time.js";
import { Stream } from "./stream.js";
import { Toggles } from "./toggles.js";
import { onZone, putAddress } from "./zone.js";

/** @import { FleetFilter, Health, ScoredPoint } from "../page.d.ts" */

const STATE_SECONDS = 5;
const LEAST_PAUSE = 700; // milliseconds between two questions to serving

const state = new FleetState();
const unfolded = /** @type {Set<string>} */ (new Set());
const list = new FleetList(byId("services"), state, unfold);
const feeds = new Toggles(byId("feeds"), (feed) => choose({ feed: now.filter.feed === feed ? "" : feed }));
const statuses = new Toggles(byId("statuses"), (status) => choose({ status: now.filter.status === status ? "" : status }));
const search = /** @type {HTMLInputElement} */ (byId("search"));
const stream = new Stream({ scored: takePoint, anomaly: soonAsk, incident: soonAsk, resync: () => void run("readings", load) }, () => void run("readings", load));
const now = { filter: fromUrl(), health: /** @type {Health | null} */ (null), loadedAt: Number.NaN, askedAt: Number.NEGATIVE_INFINITY, asking: 0 };

/** @returns {FleetFilter} */
function fromUrl() {
  const given = new URLSearchParams(location.search);
  const status = given.get("status") ?? "";
  return { search: given.get("search") ?? "", status: STATUSES.some(([each]) => each === status) ? status : "", feed: given.get("only") ?? "" };
}

/** @param {Partial<FleetFilter>} change */
function choose(change) {
  now.filter = { ...now.filter, ...change };
  const { search: text, status, feed } = now.filter;
  putAddress(new URLSearchParams({ ...(text && { search: text }), ...(status && { status }), ...(feed && { only: feed }) }));
  drawAll();
}

/** @param {string} key */
function unfold(key) {
  if (!unfolded.delete(key)) unfolded.add(key);
  drawAll();
}

async function loadHealth() {
  const asked = performance.now();
  now.health = await get("/health");
  takeTime(/** @type {Health} */ (now.health).at, asked, performance.now());
}

/** Everything, with sparklines. */
const load = () => ask("/api/fleet");

/** How all services are by now. */
const refresh = () => ask("/api/fleet?points=0");

let before = Promise.resolve();

/**
 * Takes an answer of serving. One question after the other: no older answer overtakes a newer one.
 * @param {string} path
 */
function ask(path) {
  const mine = before.then(async () => {
    now.askedAt = performance.now();
    const [fleet] = await Promise.all([get(path), now.health ?? loadHealth()]);
    now.loadedAt = serverNow();
    state.take(fleet);
    drawAll();
  });
  before = mine.catch(() => {});
  return mine;
}

/** Asks serving how the services are, at once or as soon as it was not asked just now. */
function soonAsk() {
  if (now.asking || document.hidden || Number.isNaN(now.loadedAt)) return;
  now.asking = setTimeout(() => {
    now.asking = 0;
    run("state", refresh);
  }, Math.max(0, now.askedAt + LEAST_PAUSE - performance.now()));
}

/** @param {ScoredPoint} point */
function takePoint(point) {
  if (state.reading(point)) soonAsk();
  soonDraw();
}

const soonDraw = () => soon("list", () => list.draw());

function drawAll() {
  const { filter } = now;
  if (filter.feed && state.feeds.size && !state.feeds.has(filter.feed)) return choose({ feed: "" }); // it is declared no longer
  if (search.value !== filter.search) search.value = filter.search;
  drawHeadline();
  drawFeeds();
  drawStatuses();
  const found = lines(state, filter, unfolded);
  list.show(found);
  const [message, command] = nothing(found.length);
  empty(byId("services-empty"), message, command);
  byId("keys").hidden = !found.length;
  showFreshness();
}

/**
 * What to say where no line is shown.
 * @param {number} found
 * @returns {[string | null, string | null]}
 */
function nothing(found) {
  if (found || Number.isNaN(now.loadedAt)) return [null, null];
  if (state.rows.size) return ["No service is so. Change the search, the status or the feed.", null];
  const [feed] = state.feeds.keys();
  return ["No service yet. Start the stream of a feed, and send it readings:", `sundial replay FILE --feed ${feed ?? "FEED"}`];
}

function drawHeadline() {
  const all = [...state.rows.values()];
  const amiss = all.filter(wrong).length;
  const services = servicesInWords(all.length);
  const text = !all.length ? "No services yet" : amiss ? `${count(amiss)} of ${services} need${amiss === 1 ? "s" : ""} attention` : `Nothing is wrong: ${services}`;
  if (!Number.isNaN(now.loadedAt) && byId("headline").textContent !== text) byId("headline").textContent = text;
  byId("overview").className = amiss ? "amiss" : "well";
  byId("to-incidents").hidden = !all.some((each) => each.status === "incident");
  byId("to-incidents").setAttribute("href", `/incidents?${new URLSearchParams({ ...(now.filter.feed && { feed: now.filter.feed }), state: "open" })}`);
  document.title = `${amiss ? `(${amiss}) ` : ""}All services · Sundial`;
}

function drawFeeds() {
  const several = /** @type {Map<string, { all: number, amiss: number }>} */ (new Map());
  for (const each of state.rows.values()) {
    const { all, amiss } = several.get(each.feed) ?? { all: 0, amiss: 0 };
    several.set(each.feed, { all: all + 1, amiss: amiss + Number(wrong(each)) });
  }
  const offered = [...state.feeds.values()].map((feed) => {
    const { all, amiss } = several.get(feed.name) ?? { all: 0, amiss: 0 };
    const newest = feed.newest_at === null ? "no readings yet" : `newest ${age(Math.max(0, (serverNow() - Date.parse(feed.newest_at)) / 1000))} ago`;
    const first = feed.first_baseline;
    const notes = [[servicesInWords(all), amiss ? `${count(amiss)} wrong` : "", newest].filter(Boolean).join(" · ")];
    if (first) notes.push(`No baseline yet: ${first.dates} of ${first.needed} dates`);
    return { key: feed.name, name: feed.name, notes, title: feed.description.slice(0, 300), amiss: amiss > 0 };
  });
  feeds.show(offered, now.filter.feed);
}

function drawStatuses() {
  const rows = passing(state, { ...now.filter, status: "" });
  const several = /** @type {Map<string, number>} */ (new Map([["", rows.length]]));
  for (const { status } of rows) several.set(status, (several.get(status) ?? 0) + 1);
  const offered = [["", "All"], ...STATUSES].filter(([status]) => !status || several.get(status) || now.filter.status === status);
  statuses.show(offered.map(([key, name]) => ({ key, name, notes: [count(several.get(key) ?? 0)] })), now.filter.status);
}

/** @param {number} several */
const servicesInWords = (several) => `${count(several)} service${several === 1 ? "" : "s"}`;

/** Says whether the page is live, what is as of when, and what is wrong with serving. */
function showFreshness() {
  stream.watch();
  const failures = [...failing.values()];
  const said = verdict(stream, now.health, failures);
  showState(unlessSilent(said, [...state.feeds.values()].filter(({ name }) => !now.filter.feed || name === now.filter.feed)), now.health, failures);
  const at = asOf(stream, now.health, said[0], now.loadedAt);
  byId("as-of").hidden = !at;
  byId("as-of").textContent = at;
}

/** @param {KeyboardEvent} event */
function shortcut(event) {
  if (event.key === "/" && event.target !== search && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "Escape" && event.target === search) choose({ search: "" });
  else if (event.target === search && (event.key === "ArrowDown" || event.key === "Enter")) {
    event.preventDefault();
    list.go(0);
  }
}

/** Loads at once what the page did not load while it was hidden or offline. */
function wake() {
  if (document.hidden) return;
  stream.hurry();
  run("health", loadHealth);
  run("readings", load);
}

addEventListener("keydown", shortcut);
search.addEventListener("input", () => choose({ search: search.value }));
byId("filter").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
onZone(drawAll);
setInterval(() => {
  showFreshness();
  soonDraw(); // ages count on
}, 1000);
setInterval(() => {
  if (!document.hidden) run("health", loadHealth);
  soonAsk();
}, STATE_SECONDS * 1000);
globalThis.sundial = { list, state, stream }; // for the browser's console and the tests
run("login", showLogin);
stream.follow("/api/events"); // before it loads, so that no reading is missed in between
run("readings", load);
