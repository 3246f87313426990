// What the gate found in each run: its verdict, what failed, and Great Expectations' own report of it.

import { byId, clock, make, nothing } from "./dom.js";

/** @import { Expectation, FeedInfo, GateResultInfo } from "../page.d.ts" */

let shown = ""; // what is drawn: drawn again only when it changed, so that what was opened stays open

/**
 * Results of the feed's runs, newest first.
 * @param {GateResultInfo[]} list
 * @param {FeedInfo} feed
 */
export function gateResults(list, feed) {
  const wanted = JSON.stringify([feed.name, list]);
  if (wanted === shown) return;
  shown = wanted;
  const zone = clock(feed.timezone);
  const rows = list.map((each) => resultRow(each, zone));
  byId("gate").replaceChildren(...(rows.length ? rows : [nothing("No candidate was judged yet. In Airflow, trigger the DAG", `nightly_baseline.${feed.name}`)]));
}

/**
 * "held", "warning" or "failed": a failed expectation refuses the candidate unless it is a warning.
 * @param {Expectation} expectation
 */
function verdict({ success, severity }) {
  return success ? "held" : severity === "warning" ? "warning" : "failed";
}

/**
 * @param {GateResultInfo} each
 * @param {ReturnType<typeof clock>} zone
 */
function resultRow(each, zone) {
  const amiss = each.expectations.filter(({ success }) => !success).sort((a, b) => verdict(a).localeCompare(verdict(b))); // failed first
  const row = make(
    "li",
    {},
    make("div", { class: "line" }, make("strong", { text: `candidate v${each.candidate_version}` }), pill(each, amiss)),
    make("p", { class: "quiet" }, make("time", { datetime: each.checked_at, text: zone.dated(each.checked_at) }), ` · ${each.run_id}`),
    ...amiss.map(trouble),
    make("details", {}, make("summary", { text: `${each.expectations.length - amiss.length} of ${each.expectations.length} expectations held` }), make("ul", {}, ...each.expectations.map(expectation))),
  );
  if (each.docs_url) row.append(make("a", { class: "link", href: each.docs_url, target: "_blank", rel: "noopener", text: "Data Docs" }));
  return row;
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
