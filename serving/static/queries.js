// The page of queries' tables: which one is chosen (kept in the URL), and its rows, asked for again while the page is seen.

import { byId, empty, inputById, make, selectById } from "./dom.js";
import { failing, get, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { draw } from "./query_rows.js";

/** @import { QueryInfo, QueryRow, QueryTable } from "../page.d.ts" */

const AGAIN = 2000; // milliseconds between two answers
const PAGE = 100; // rows
const MOST = 500; // rows that one answer may have

const given = new URLSearchParams(location.search);
const chosen = { query: given.get("query") ?? "", topic: given.get("topic") ?? "", prefix: given.get("prefix") ?? "", rows: PAGE };
const known = { queries: /** @type {QueryInfo[]} */ ([]), seen: /** @type {Map<string, string> | null} */ (null), number: 0 };

/** The topics of the query that are tables. @param {QueryInfo | undefined} query */
const tablesOf = (query) => (query?.outputs ?? []).filter((each) => each.table).map((each) => each.topic);

/** @param {Partial<typeof chosen>} change */
function choose(change) {
  Object.assign(chosen, { rows: PAGE }, change);
  known.seen = null;
  known.number += 1;
  offer();
  void run("rows", load);
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
  inputById("prefix").value = chosen.prefix;
  byId("title").textContent = chosen.query || "No query is declared";
  byId("note").textContent = query ? `${query.description}. It reads ${query.inputs.join(", ")} and runs in the application ${query.application}.` : "";
  const wanted = { ...(chosen.query && { query: chosen.query }), ...(topics.length > 1 && { topic: chosen.topic }), ...(chosen.prefix && { prefix: chosen.prefix }) };
  history.replaceState(null, "", `?${new URLSearchParams(wanted)}`);
  document.title = `${chosen.query || "Queries"} · Sundial`;
}

/** @param {QueryInfo} query */
const option = (query) => make("option", { value: query.name, text: query.name, disabled: tablesOf(query).length ? null : "" });

async function load() {
  const [asked, number] = [chosen.rows, known.number];
  if (!chosen.topic) return show({ query: chosen.query, topic: "", offsets: {}, rows: [] }, asked);
  const query = new URLSearchParams({ topic: chosen.topic, limit: String(Math.min(asked + 1, MOST)), ...(chosen.prefix && { prefix: chosen.prefix }) });
  const table = await get(`/api/queries/${encodeURIComponent(chosen.query)}/rows?${query}`);
  if (number === known.number) show(table, asked);
}

/**
 * @param {QueryTable} table
 * @param {number} asked
 */
function show({ topic, offsets, rows }, asked) {
  known.seen = draw(/** @type {HTMLTableElement} */ (byId("rows")), rows.slice(0, asked), known.seen);
  byId("more").hidden = rows.length <= asked || asked >= MOST;
  const none = chosen.prefix ? "No key begins with this text." : topic ? "The table has no rows yet. Start its application:" : chosen.query ? "This query writes no table. Read its topic:" : "Declare a query in schemas/queries/.";
  const command = chosen.prefix || !chosen.query ? null : topic ? `sundial queries start ${known.queries.find((each) => each.name === chosen.query)?.application}` : "sundial read TOPIC";
  empty(byId("rows-empty"), rows.length ? null : none, command);
  const read = Object.entries(offsets).map(([partition, offset]) => `${partition}: ${offset.toLocaleString("en")}`);
  byId("offsets").textContent = topic ? `${topic}, read up to offset ${read.join(", ")}` : "";
}

function showState() {
  const trouble = [...failing.values()].map((each) => each.message);
  byId("problem").hidden = !trouble.length;
  byId("problem").textContent = trouble[0] ?? "";
  byId("connection").textContent = trouble.length ? "Not up to date" : "Live";
  byId("connection").className = `pill ${trouble.length ? "waiting" : "live"}`;
}

selectById("query").addEventListener("change", () => choose({ query: selectById("query").value, topic: "", prefix: "" }));
selectById("topic").addEventListener("change", () => choose({ topic: selectById("topic").value, prefix: "" }));
inputById("prefix").addEventListener("input", () => choose({ prefix: inputById("prefix").value }));
byId("choice").addEventListener("submit", (event) => event.preventDefault());
byId("more").addEventListener("click", () => {
  chosen.rows = Math.min(chosen.rows + PAGE, MOST);
  void run("rows", load);
});

void run("login", showLogin);
void run("queries", async () => {
  known.queries = await get("/api/queries");
  choose({});
});
setInterval(() => {
  if (!document.hidden && known.queries.length && !failing.has("rows")) void run("rows", load);
}, AGAIN);
setInterval(showState, 250);
