// The page of a feed's baselines: its versions, what differs between two of them, and what the gate said. The URL keeps what is chosen.

import { BaselineChart } from "./baseline_chart.js";
import { byService, inWords } from "./baseline_changes.js";
import { completed, versions } from "./baseline_list.js";
import { ChangesTable } from "./baseline_table.js";
import { byId, DAYS, empty, inputById, make, selectById } from "./dom.js";
import { late, mark, showState } from "./freshness.js";
import { gateResults } from "./gate.js";
import { failing, get, getAll, getPage, onlyLoad, Refused, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { answering, rollingBack } from "./operator.js";
import { serverNow } from "./server_time.js";

/** @import { Baseline, BaselineChange, FeedInfo, GateResultInfo, ServiceInfo } from "../page.d.ts" */
/** @typedef {{ feed: FeedInfo | null, from: number | null, to: number | null, service: string | null, day: number | null }} Choice */

const AGAIN = 5000; // milliseconds
const [VERSIONS, RESULTS] = [20, 10]; // shown at first, and added by each "show more"
const MOST = 500; // rows that one answer may have
const MONDAY = 1;

const chosen = /** @type {Choice} */ ({ feed: null, from: null, to: null, service: null, day: null });
const known = { feeds: /** @type {FeedInfo[]} */ ([]), baseline: /** @type {Baseline | null} */ (null), older: false, at: Number.NaN, versions: VERSIONS, results: RESULTS };
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
  await choose({ feed, from: whole(asked.get("from")), to: whole(asked.get("to")), ...own }, "replaceState");
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
  Object.assign(chosen, other ? { from: null, to: null, service: null, day: null } : {}, change);
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
  if (location.search !== `?${query}`) history[how](null, "", `?${query}`);
  document.title = `Baselines of ${feed?.name} · Sundial`;
}

/** Versions and gate results. Without a choice of versions, the one in force is compared with the one before. */
async function loadState() {
  const { feed } = chosen;
  if (!feed) return;
  const left = loading.signal;
  const pages = [path(`baseline?limit=${known.versions}`), path(`gate-results?limit=${known.results}`), "/api/feeds"];
  const [{ body: baseline, next: older }, { body: results, next: earlier }, { body: feeds }] = await Promise.all(pages.map((each) => getPage(each, left)));
  Object.assign(known, { baseline, feeds, older: older !== null, at: serverNow() });
  Object.assign(chosen, completed(chosen, baseline.history));
  offerFeeds();
  const again = () => run("state", refresh);
  versions(baseline, feed, chosen, { compare: take, rollBack: rollingBack(feed, again) });
  gateResults(results, feed, answering(feed, again), baseline.in_force, look);
  byId("history-more").hidden = older === null || known.versions >= MOST;
  byId("gate-more").hidden = earlier === null || known.results >= MOST;
}

function offerFeeds() {
  const names = known.feeds.map(({ name }) => name);
  if ([...selectById("feed").options].map(({ value }) => value).join() !== names.join()) selectById("feed").replaceChildren(...names.map((name) => make("option", { value: name, text: name })));
  selectById("feed").value = chosen.feed?.name ?? "";
}

/** What differs between the two versions. */
async function loadChanges() {
  const { feed, from, to } = chosen;
  const wanted = `${feed?.name} ${from} ${to}`;
  if (wanted === drawn.changes) return table.mark(chosen);
  drawn.changes = "";
  table.show([]);
  byId("changes-words").textContent = "";
  byId("changes-title").textContent = from === null || to === null ? "What changed" : `From v${from} to v${to}`;
  say("changes-empty", from === null || to === null ? nothingToCompare(to) : "Comparing the two versions …");
  if (from !== null && to !== null) {
    const left = loading.signal;
    const asked = Promise.all([getAll(path(`baseline/diff?from=${from}&to=${to}&limit=10000`), left), known.baseline?.version === to ? getAll(path("services"), left) : null]);
    const found = await orRefused("changes-empty", asked);
    if (found) showChanges(from, to, ...found);
  }
  drawn.changes = wanted;
}

/** @param {number | null} only the one version that there is */
function nothingToCompare(only) {
  if (only === null) return "There is no version yet.";
  return known.older ? `Choose the version that v${only} is to be compared with.` : `v${only} is the first version: none was in force before it.`;
}

/** @type {(from: number, to: number, changes: BaselineChange[], services: ServiceInfo[] | null) => void} */
function showChanges(from, to, changes, services) {
  const list = byService(changes);
  byId("changes-words").textContent = inWords(list, from, to, services && services.filter((each) => each.in_baseline).map(({ name }) => name));
  table.chosen = chosen;
  table.show(list);
}

/** What both versions expect of the chosen service and day type. */
async function loadCourses() {
  const { feed, service, day, from, to } = chosen;
  const wanted = JSON.stringify([feed?.name, service, day, from, to]);
  byId("course").hidden = service === null || day === null || to === null;
  if (wanted === drawn.courses || byId("course").hidden || !feed || service === null || day === null || to === null) return;
  drawn.courses = "";
  byId("course-title").textContent = `${service}, ${DAYS[day]}`;
  selectById("day").value = String(day);
  byId("to-service").setAttribute("href", `/?${new URLSearchParams({ feed: feed.name, service })}`);
  chart.show(null);
  byId("key").hidden = true;
  say("course-empty", "Loading what is expected …");
  const of = (/** @type {number | null} */ version) => (version === null ? [] : getAll(path(`services/${encodeURIComponent(service)}/baseline?version=${version}&day_type=${day}`), loading.signal));
  const found = await orRefused("course-empty", Promise.all([of(from), of(to)]));
  if (found) showCourses(feed, from, to, ...found);
  drawn.courses = wanted;
}

/** @type {(feed: FeedInfo, from: number | null, to: number, before: any[], after: any[]) => void} */
function showCourses(feed, from, to, before, after) {
  const without = [[from, before], [to, after]].flatMap(([version, rows]) => (version === null || /** @type {any[]} */ (rows).length ? [] : [`v${version}`]));
  say("course-empty", without.length ? `${without.join(" and ")} ${without.length > 1 ? "know" : "knows"} nothing of this service on such a day.` : null);
  const newer = from !== null && from > to ? before : after;
  byId("name-before").textContent = from === null ? "Before" : `v${from}`;
  byId("name-after").textContent = `v${to}`;
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
  const failures = [...failing.values()];
  showState(failures.length ? ["stale", "Not up to date"] : known.baseline ? ["live", "Up to date"] : ["waiting", "Loading"], null, failures);
  if (chosen.feed && known.baseline) mark("state", late(known.at) ? known.at : null, chosen.feed);
}

byId("choice").addEventListener("submit", (event) => event.preventDefault());
selectById("feed").addEventListener("change", () => take({ feed: known.feeds.find(({ name }) => name === selectById("feed").value) }));
for (const id of /** @type {const} */ (["from", "to"])) selectById(id).addEventListener("change", () => take({ [id]: whole(selectById(id).value) }));
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
setInterval(() => !document.hidden && chosen.feed && void run("state", refresh), AGAIN);
setInterval(showFreshness, 250);
globalThis.sundial = { chart }; // for the browser's console and the tests
void run("choice", start);
