// The page of a feed's baselines: versions, what a version or a candidate changes, gate results, special days. The URL keeps the choice.

import { BaselineChart } from "./baseline_chart.js";
import { byService, inWords } from "./baseline_changes.js";
import { versions } from "./baseline_list.js";
import { afterOf, completed, sentence } from "./baseline_sides.js";
import { ChangesTable } from "./baseline_table.js";
import { byId, DAYS, empty, inputById, make, selectById } from "./dom.js";
import { late, mark, showState } from "./freshness.js";
import { gateResults, markCandidate } from "./gate.js";
import { failing, get, getAll, getPage, onlyLoad, Refused, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { answering, rollingBack } from "./operator.js";
import { serverNow } from "./server_time.js";
import { specialDays } from "./special_days.js";
import { onZone, putAddress } from "./zone.js";

/** @import { Baseline, BaselineChange, FeedInfo, GateResultInfo, ServiceInfo } from "../page.d.ts" */
/** @import { After, Sides } from "./baseline_sides.js" */
/** @import { Place } from "./gate_samples.js" */
/** @typedef {Sides & { feed: FeedInfo | null, service: string | null, day: number | null }} Choice */

const AGAIN = 5000; // milliseconds
const [VERSIONS, RESULTS] = [20, 10]; // shown at first, and added by each "show more"
const MOST = 500; // rows that one answer may have
const MONDAY = 1;

const chosen = /** @type {Choice} */ ({ feed: null, from: null, to: null, candidate: null, service: null, day: null });
const known = { feeds: /** @type {FeedInfo[]} */ ([]), baseline: /** @type {Baseline | null} */ (null), judged: /** @type {GateResultInfo[]} */ ([]), older: false, at: Number.NaN, versions: VERSIONS, results: RESULTS };
const drawn = { changes: "", courses: "" }; // which choice the picture and the chart show
const chart = new BaselineChart(byId("chart"));
const table = new ChangesTable(look);
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
let loading = new AbortController(); // ends the requests of a choice that was left

/** @type {(rest: string) => string} */
const path = (rest) => `/api/feeds/${encodeURIComponent(chosen.feed?.name ?? "")}/${rest}`;

/** Takes the choice from the URL. */
async function start() {
  [known.feeds] = await Promise.all([get("/api/feeds"), showLogin()]);
  const asked = new URLSearchParams(location.search);
  const [service, day] = [asked.get("service"), whole(asked.get("day"))];
  const feed = known.feeds.find(({ name }) => name === asked.get("feed")) ?? known.feeds.find((each) => each.baseline_version !== null) ?? known.feeds[0];
  if (!feed) return empty(byId("changes-none"), "No feed is declared. Declare one:", "sundial new feed NAME --from FILE");
  const own = { service, day: day !== null && DAYS[day] ? day : service === null ? null : MONDAY };
  await choose({ feed, from: whole(asked.get("from")), to: whole(asked.get("to")), candidate: whole(asked.get("candidate")), ...own }, "replaceState");
}

/** @type {(text: string | null) => number | null} */
const whole = (text) => (text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null);

/**
 * Changes the choice, the URL and everything that follows from it.
 * @param {Partial<Choice>} change
 * @param {"pushState" | "replaceState"} how
 */
async function choose(change, how = "pushState") {
  loading.abort();
  loading = new AbortController();
  onlyLoad("choice");
  const other = change.feed && change.feed.name !== chosen.feed?.name;
  if (other) {
    Object.assign(known, { versions: VERSIONS, results: RESULTS });
    main.ariaBusy = "true";
  }
  Object.assign(chosen, other ? { from: null, to: null, candidate: null, service: null, day: null } : {}, change);
  await loadState();
  main.ariaBusy = null;
  keep(how);
  await Promise.all([loadChanges(), loadCourses()]);
}

/** Shows what is expected of that service and day type. @type {(service: string, day: number) => void} */
function look(service, day) {
  void run("choice", async () => {
    await choose({ service, day });
    byId("course").scrollIntoView({ block: "nearest" });
  });
}

/** Shows what a candidate changes. @type {(result: GateResultInfo, place: Place | null) => void} */
function lookAt({ candidate_version: candidate, compared_with: from }, place) {
  void run("choice", async () => {
    await choose({ from, to: null, candidate, ...place });
    byId(place ? "course" : "changes-title").scrollIntoView({ block: "nearest" });
  });
}

/** Loads versions and gate results again. Compares two versions as soon as there are two; otherwise the choice stays. */
async function refresh() {
  const { from, to } = chosen;
  if (known.baseline && known.baseline.history.length < 2) Object.assign(chosen, { from: null, to: null });
  await loadState();
  if (from === chosen.from && to === chosen.to) return;
  keep("replaceState");
  await Promise.all([loadChanges(), loadCourses()]);
}

/** @type {(change: Partial<Choice>) => void} */
const take = (change) => void run("choice", () => choose(change));

/** @param {"pushState" | "replaceState"} how */
function keep(how) {
  const { feed, ...others } = chosen;
  const query = new URLSearchParams({ feed: feed?.name ?? "" });
  for (const [name, value] of Object.entries(others)) if (value !== null) query.set(name, String(value));
  putAddress(query, how);
  document.title = `Baselines of ${feed?.name} · Sundial`;
}

/** Versions and gate results. Without a choice of versions, the one in force is compared with the one before. */
async function loadState() {
  const { feed } = chosen;
  if (!feed) return;
  const left = loading.signal;
  const pages = [path(`baseline?limit=${known.versions}`), path(`gate-results?limit=${known.results}`), "/api/feeds"];
  const [{ body: baseline, next: older }, { body: results, next: earlier }, { body: feeds }] = await Promise.all(pages.map((each) => getPage(each, left)));
  Object.assign(known, { baseline, judged: results, feeds, older: older !== null, at: serverNow() });
  Object.assign(chosen, completed(chosen, baseline.history, results));
  offerFeeds();
  drawState();
  byId("history-more").hidden = older === null || known.versions >= MOST;
  byId("gate-more").hidden = earlier === null || known.results >= MOST;
}

function drawState() {
  const [{ feed }, { baseline, judged }] = [chosen, known];
  if (!feed || !baseline) return;
  const again = () => run("state", refresh);
  versions(baseline, feed, chosen, { compare: take, rollBack: rollingBack(feed, again) });
  gateResults(judged, feed, answering(feed, again), baseline.in_force, lookAt);
  markCandidate(judged, chosen.candidate);
  specialDays(baseline.special_days);
}

function offerFeeds() {
  const names = known.feeds.map(({ name }) => name);
  if ([...selectById("feed").options].map(({ value }) => value).join() !== names.join()) selectById("feed").replaceChildren(...names.map((name) => make("option", { value: name, text: name })));
  selectById("feed").value = chosen.feed?.name ?? "";
}

/** What differs between the two sides. */
async function loadChanges() {
  const { feed, from, to } = chosen;
  const after = afterOf(chosen);
  const wanted = `${feed?.name} ${from} ${after?.name}`;
  if (wanted === drawn.changes) return table.mark(chosen);
  drawn.changes = "";
  table.show([]);
  byId("changes-words").textContent = "";
  byId("changes-title").textContent = from === null || !after ? "What changed" : `From v${from} to ${after.name}`;
  say("changes-empty", from === null || !after ? nothingToCompare(after) : "Comparing the two versions …");
  if (from !== null && after) {
    const left = loading.signal;
    const asked = Promise.all([getAll(path(`baseline/diff?from=${from}&${after.diff}&limit=10000`), left), to !== null && known.baseline?.version === to ? getAll(path("services"), left) : null]);
    const found = await orRefused("changes-empty", asked);
    if (found) showChanges(`v${from}`, after.name, ...found);
  }
  drawn.changes = wanted;
}

/** @param {After | null} only the one that there is */
function nothingToCompare(only) {
  if (!only) return "There is no version yet.";
  return sentence(known.older ? `Choose the version that ${only.name} is to be compared with.` : `${only.name} is the first: no version was in force before it.`);
}

/** @type {(before: string, after: string, changes: BaselineChange[], services: ServiceInfo[] | null) => void} */
function showChanges(before, after, changes, services) {
  const list = byService(changes);
  byId("changes-words").textContent = inWords(list, before, after, services && services.filter((each) => each.in_baseline).map(({ name }) => name));
  table.chosen = chosen;
  table.show(list);
}

/** What both sides expect of the chosen service and day type. */
async function loadCourses() {
  const { feed, service, day, from } = chosen;
  const after = afterOf(chosen);
  const wanted = JSON.stringify([feed?.name, service, day, from, after]);
  byId("course").hidden = service === null || day === null || !after;
  if (wanted === drawn.courses || byId("course").hidden || !feed || service === null || day === null || !after) return;
  drawn.courses = "";
  byId("course-title").textContent = `${service}, ${DAYS[day]}`;
  byId("course-zone").textContent = `Times of day are those of ${feed.timezone}, as the slots of the baseline are.`;
  selectById("day").value = String(day);
  byId("to-service").setAttribute("href", `/?${new URLSearchParams({ feed: feed.name, service })}`);
  chart.show(null);
  byId("key").hidden = true;
  say("course-empty", "Loading what is expected …");
  const of = (/** @type {string} */ side) => getAll(path(`services/${encodeURIComponent(service)}/baseline?${side}&day_type=${day}`), loading.signal);
  const found = await orRefused("course-empty", Promise.all([from === null ? [] : of(`version=${from}`), of(after.service)]));
  if (found) showCourses(feed, after, ...found);
  drawn.courses = wanted;
}

/** @type {(feed: FeedInfo, side: After, before: any[], after: any[]) => void} */
function showCourses(feed, { name }, before, after) {
  const { from, to } = chosen;
  const without = [...(from === null || before.length ? [] : [`v${from}`]), ...(after.length ? [] : [name])];
  say("course-empty", without.length ? sentence(`${without.join(" and ")} ${without.length > 1 ? "know" : "knows"} nothing of this service on such a day.`) : null);
  const newer = from !== null && to !== null && from > to ? before : after;
  byId("name-before").textContent = from === null ? "Before" : `v${from}`;
  byId("name-after").textContent = name;
  byId("key").hidden = !before.length && !after.length;
  chart.show(byId("key").hidden ? null : { before, after, newer, interval: feed.interval_seconds, normal: feed.rule.normal });
}

/**
 * The answer; or null if serving refuses it for good, for example as a version is no longer kept: the page says so in that place.
 * @template T
 * @param {string} place
 * @param {Promise<T>} asked
 */
async function orRefused(place, asked) {
  try {
    const found = await asked;
    say(place, null);
    return found;
  } catch (error) {
    if (!(error instanceof Refused) || error.status >= 500) throw error;
    say(place, error.message, "trouble");
    return null;
  }
}

/** @type {(place: string, text: string | null, how?: string) => void} */
function say(place, text, how = "empty") {
  empty(byId(place), text);
  byId(place).className = how;
}

function showFreshness() {
  const damaged = known.feeds.filter(({ name, unreadable }) => name === chosen.feed?.name && unreadable !== null);
  const failures = [...failing.values(), ...damaged.map(({ name, unreadable }) => new Error(`Tables of feed ${name} can't be read: ${unreadable}.`))];
  showState(failures.length ? ["stale", "Not up to date"] : known.baseline ? ["live", "Up to date"] : ["waiting", "Loading"], null, failures);
  if (chosen.feed && known.baseline) mark("state", late(known.at) ? known.at : null, chosen.feed);
}

byId("choice").addEventListener("submit", (event) => event.preventDefault());
selectById("feed").addEventListener("change", () => take({ feed: known.feeds.find(({ name }) => name === selectById("feed").value) }));
selectById("from").addEventListener("change", () => take({ from: whole(selectById("from").value) }));
selectById("to").addEventListener("change", () => take({ to: whole(selectById("to").value), candidate: null }));
selectById("day").replaceChildren(...DAYS.flatMap((name, day) => (name ? [make("option", { value: day, text: name })] : [])));
selectById("day").addEventListener("change", () => take({ day: Number(selectById("day").value) }));
inputById("find").addEventListener("input", () => table.find(inputById("find").value));
for (const [id, what, more] of /** @type {const} */ ([["history-more", "versions", VERSIONS], ["gate-more", "results", RESULTS]])) {
  byId(id).addEventListener("click", () => {
    known[what] = Math.min(known[what] + more, MOST);
    void run("state", refresh);
  });
}
addEventListener("popstate", () => void run("choice", start));
onZone(() => {
  drawState();
  showFreshness();
});
setInterval(() => !document.hidden && chosen.feed && void run("state", refresh), AGAIN);
setInterval(showFreshness, 250);
globalThis.sundial = { chart }; // for the browser's console and the tests
void run("choice", start);
