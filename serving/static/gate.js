// What the gate found in each run: its verdict, what failed, and Great Expectations' own report of it.

import { byId, clockOf, make, nothing } from "./dom.js";
import { samples } from "./gate_samples.js";
import { shownZone } from "./zone.js";

/** @import { Expectation, FeedInfo, GateResultInfo, PromotionInfo } from "../page.d.ts" */
/** @import { Place } from "./gate_samples.js" */
/** @typedef {((result: GateResultInfo, approve: boolean) => void) | null} Answer of an operator; null for others */
/** @typedef {(result: GateResultInfo, place: Place | null) => void} Look shows what the candidate changes: all of it, or of one service and day type */

let shown = ""; // what is drawn: drawn again only when it changed, so that what was opened stays open

/**
 * Results of the feed's runs, newest first.
 * @param {GateResultInfo[]} list
 * @param {FeedInfo} feed
 * @param {Answer} answer
 * @param {PromotionInfo | null} force the baseline in force
 * @param {Look | null} look null: no rows at fault are shown
 */
export function gateResults(list, feed, answer, force, look = null) {
  const timezone = shownZone(feed.timezone);
  const wanted = JSON.stringify([feed.name, timezone, list, answer === null, force?.version]);
  if (wanted === shown) return;
  shown = wanted;
  const zone = clockOf(timezone);
  const rows = list.map((each, index) => resultRow(each, zone, index === 0 && mayWait(each, force) ? answer : null, look));
  byId("gate").replaceChildren(...(rows.length ? rows : [make("li", {}, nothing("No candidate was judged yet. In Airflow, trigger the DAG", `nightly_baseline.${feed.name}`))]));
}

/** Marks the results of the candidate that is compared. @type {(list: GateResultInfo[], candidate: number | null) => void} */
export function markCandidate(list, candidate) {
  list.forEach((each, index) => {
    byId("gate").children[index].ariaCurrent = each.candidate_version === candidate ? "true" : null;
  });
}

/**
 * "held", "warning" or "failed": a failed expectation refuses the candidate unless it is a warning.
 * @param {Expectation} expectation
 */
function verdict({ success, severity }) {
  return success ? "held" : severity === "warning" ? "warning" : "failed";
}

/** @type {(result: GateResultInfo, force: PromotionInfo | null) => boolean} Whether its run may ask a person what to do. */
const mayWait = ({ success, run_id: run }, force) => !success && force?.run_id !== run;

/**
 * @param {GateResultInfo} each
 * @param {ReturnType<typeof clockOf>} zone
 * @param {Answer} answer
 * @param {Look | null} look
 */
function resultRow(each, zone, answer, look) {
  const amiss = each.expectations.filter(({ success }) => !success).sort((a, b) => verdict(a).localeCompare(verdict(b))); // failed first
  const row = make(
    "li",
    {},
    make("div", { class: "line" }, make("strong", { text: `candidate v${each.candidate_version}` }), pill(each, amiss)),
    make("p", { class: "quiet" }, make("time", { datetime: each.checked_at, text: zone.dated(each.checked_at) }), ` · ${each.run_id}${each.compared_with === null ? "" : ` · compared with v${each.compared_with}`}`),
    ...amiss.flatMap((expectation) => [trouble(expectation), ...(look ? samples(expectation, (place) => look(each, place)) : [])]),
    make("details", {}, make("summary", { text: `${each.expectations.length - amiss.length} of ${each.expectations.length} expectations held` }), make("ul", {}, ...each.expectations.map(expectation))),
  );
  const acts = look && !each.success ? [button(`What candidate v${each.candidate_version} changes`, () => look(each, null))] : [];
  if (answer) acts.push(button("Approve", () => answer(each, true)), button("Reject", () => answer(each, false)));
  if (acts.length) row.append(make("p", { class: "acts" }, ...acts));
  if (each.docs_url) row.append(make("a", { class: "link", href: each.docs_url, target: "_blank", rel: "noopener", text: "Data Docs" }));
  return row;
}

/** @type {(text: string, act: () => void) => HTMLElement} */
function button(text, act) {
  const made = make("button", { type: "button", class: "link", text });
  made.addEventListener("click", act);
  return made;
}

/**
 * @param {GateResultInfo} result
 * @param {Expectation[]} amiss
 */
function pill({ success }, amiss) {
  if (!success) return make("span", { class: "pill dead", text: "refused" });
  if (!amiss.length) return make("span", { class: "pill running", text: "passed" });
  return make("span", { class: "pill stale", text: `passed, ${amiss.length} warning${amiss.length > 1 ? "s" : ""}` });
}

/** @param {Expectation} each */
function trouble(each) {
  const observed = typeof each.observed === "string" ? each.observed : JSON.stringify(each.observed);
  const failed = verdict(each) === "failed";
  return make("p", { class: failed ? "trouble" : "doubt" }, make("strong", { text: failed ? "Failed" : "Warning" }), `: ${each.notes} Observed: ${observed}`);
}

/** @param {Expectation} each */
function expectation(each) {
  const what = make("span", { text: each.notes, title: each.expectation });
  return make("li", { class: verdict(each) }, make("span", { class: "verdict", text: verdict(each) }), what, make("span", { class: "quiet", text: ` ${each.severity}` }));
}
