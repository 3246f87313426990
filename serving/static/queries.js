// The page of queries: the applications, the table that is chosen (kept in the URL), and its rows, asked for again while the page is seen.

import { applications } from "./applications.js";
import { byId, empty, inputById, make, selectById } from "./dom.js";
import { amiss, showState } from "./freshness.js";
import { failing, get, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { switchingApplications } from "./operator.js";
import { clear, draw } from "./query_rows.js";
import { takeTime } from "./server_time.js";
import { onZone, putAddress } from "./zone.js";

/** @import { Health, QueryInfo, QueryTable, StreamInfo } from "../page.d.ts" */

const AGAIN = 2000; // milliseconds from an answer to the next question
const STATE_SECONDS = 5;
const PAGE = 100; // rows
const MOST = 500; // rows that one answer may have

const given = new URLSearchParams(location.search);
const chosen = { query: given.get("query") ?? "", topic: given.get("topic") ?? "", prefix: given.get("prefix") ?? "", rows: PAGE };
const known = { queries: /** @type {QueryInfo[]} */ ([]), streams: /** @type {StreamInfo[] | null} */ (null), seen: /** @type {Map<string, string> | null} */ (null), answer: /** @type {QueryTable | null} */ (null), live: false, health: /** @type {Health | null} */ (null) };
const table = /** @type {HTMLTableElement} */ (byId("rows"));
let loading = new AbortController(); // of what is chosen now
let next = 0; // the timer of the next question

/** The topics of the query that are tables. @param {QueryInfo | undefined} query */
const tablesOf = (query) => (query?.outputs ?? []).filter((each) => each.table).map((each) => each.topic);

/** @param {Partial<typeof chosen>} change */
function choose(change) {
  const before = chosen.topic;
  Object.assign(chosen, { rows: PAGE }, change);
  offer();
  if (chosen.topic !== before) {
    clear(table);
    known.answer = null;
    byId("offsets").textContent = "";
    byId("more").hidden = byId("rows-empty").hidden = true;
  }
  ask();
}

/** Asks at once; what was asked before is left. */
function ask() {
  loading.abort();
  loading = new AbortController();
  known.seen = null;
  void load(loading.signal);
}

/** @param {AbortSignal} left */
async function load(left) {
  clearTimeout(next);
  await run("rows", async () => {
    const asked = chosen.rows;
    const query = new URLSearchParams({ topic: chosen.topic, limit: String(Math.min(asked + 1, MOST)), ...(chosen.prefix && { prefix: chosen.prefix }) });
    show(chosen.topic ? await get(`/api/queries/${encodeURIComponent(chosen.query)}/rows?${query}`, left) : null, asked);
  });
  if (!left.aborted) next = setTimeout(() => (document.hidden ? document.addEventListener("visibilitychange", ask, { once: true }) : void load(left)), AGAIN);
}

/** What can be chosen, and what is. */
function offer() {
  const query = known.queries.find((each) => each.name === chosen.query) ?? known.queries.find((each) => tablesOf(each).length);
  const topics = tablesOf(query);
  chosen.query = query?.name ?? "";
  chosen.topic = topics.includes(chosen.topic) ? chosen.topic : (topics[0] ?? "");
  const applications = [...new Set(known.queries.map((each) => each.application))];
  selectById("query").replaceChildren(...applications.map((name) => make("optgroup", { label: name }, ...known.queries.filter((each) => each.application === name).map(option))));
  selectById("query").value = chosen.query;
  selectById("topic").replaceChildren(...topics.map((each) => make("option", { value: each, text: each })));
  selectById("topic").value = chosen.topic;
  const label = /** @type {HTMLElement} */ (selectById("topic").closest("label"));
  label.hidden = topics.length < 2;
  if (inputById("prefix").value !== chosen.prefix) inputById("prefix").value = chosen.prefix;
  byId("title").textContent = chosen.query || "No query is declared";
  byId("note").textContent = query ? `${query.description}. It reads ${query.inputs.join(", ")} and runs in the application ${query.application}.` : "";
  const wanted = { ...(chosen.query && { query: chosen.query }), ...(topics.length > 1 && { topic: chosen.topic }), ...(chosen.prefix && { prefix: chosen.prefix }) };
  putAddress(new URLSearchParams(wanted));
  document.title = `${chosen.query || "Queries"} · Sundial`;
}

/** @param {QueryInfo} query */
const option = (query) => make("option", { value: query.name, text: query.name, disabled: tablesOf(query).length ? null : "" });

/**
 * @param {QueryTable | null} answer null: there is no table to ask for
 * @param {number} asked rows
 */
function show(answer, asked) {
  known.answer = answer;
  const rows = answer?.rows ?? [];
  known.seen = draw(table, rows.slice(0, asked), known.seen);
  known.live = true;
  byId("more").hidden = rows.length <= asked || asked >= MOST;
  empty(byId("rows-empty"), rows.length ? null : none(), commandFor());
  const read = Object.entries(answer?.offsets ?? {}).map(([partition, offset]) => `${partition}: ${offset.toLocaleString("en")}`);
  byId("offsets").textContent = answer ? `${answer.topic}, read up to offset ${read.join(", ")}` : "";
}

/** Writes all times afresh. */
function drawTimes() {
  if (known.answer) known.seen = draw(table, known.answer.rows.slice(0, chosen.rows), null);
}

function none() {
  if (!chosen.query) return "Declare a query in schemas/queries/.";
  if (!chosen.topic) return "This query writes no table. Read its topic:";
  return chosen.prefix ? "No key begins with this text." : "The table has no rows yet. Start its application:";
}

function commandFor() {
  if (!chosen.query || chosen.prefix) return null;
  return chosen.topic ? `sundial queries start ${known.queries.find((each) => each.name === chosen.query)?.application}` : "sundial read TOPIC";
}

async function loadStreams() {
  known.streams = await get("/api/streams");
  showApplications();
}

function showApplications() {
  if (known.streams) applications(known.queries, known.streams, switchingApplications(() => void run("streams", loadStreams)));
}

async function loadHealth() {
  const asked = performance.now();
  const health = /** @type {Health} */ (await get("/health"));
  takeTime(health.at, asked, performance.now());
  known.health = health;
}

function showFreshness() {
  const failures = [...failing.values()];
  showState(amiss(known.health, failures) ?? (known.live ? ["live", "Live"] : ["waiting", "Connecting"]), known.health, failures);
}

selectById("query").addEventListener("change", () => choose({ query: selectById("query").value, topic: "", prefix: "" }));
selectById("topic").addEventListener("change", () => choose({ topic: selectById("topic").value, prefix: "" }));
inputById("prefix").addEventListener("input", () => choose({ prefix: inputById("prefix").value }));
onZone(drawTimes);
byId("choice").addEventListener("submit", (event) => event.preventDefault());
byId("more").addEventListener("click", () => {
  chosen.rows = Math.min(chosen.rows + PAGE, MOST);
  ask();
});

void run("login", showLogin).then(showApplications);
void run("health", loadHealth);
void run("queries", async () => {
  known.queries = await get("/api/queries");
  choose({});
  void run("streams", loadStreams);
});
setInterval(() => void (document.hidden || run("health", loadHealth)), STATE_SECONDS * 1000);
setInterval(() => void (document.hidden || !known.queries.length || run("streams", loadStreams)), STATE_SECONDS * 1000);
setInterval(showFreshness, 250);
