// The panels beside the chart: anomalies and baseline; and what the page says of the chart.

import { age, byId, clockOf, count, empty, make, nothing, offBy } from "./dom.js";
import { gate, how, origin } from "./promotions.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { AnomalyInfo, Baseline, FeedInfo, Point, PromotionInfo, Rule, Series, Span } from "../page.d.ts" */
/** @import { KeptRows } from "./kept_rows.js" */
/** @typedef {ReturnType<typeof clockOf>} Zone */
/** @typedef {((promotion: PromotionInfo) => void) | null} RollBack of an operator; null for others */

/**
 * The rule in words.
 * @param {Rule} rule
 */
export function ruleInWords({ normal, percent, spread, minimum }) {
  const parts = [];
  if (percent !== null) parts.push(`more than ${count(percent)} % off`);
  if (spread !== null) parts.push(`more than ${count(spread)} ${normal === "robust" ? "scales of the robust normal" : "spreads"} off`);
  if (minimum !== null) parts.push(`at least ${count(minimum)} in value or expected`);
  return `Flagged when ${parts.join(", and ")}`;
}

/**
 * @param {Point} point
 * @param {Series} series
 */
function howLongAgo(point, series) {
  const seconds = (serverNow() - Date.parse(point.at)) / 1000;
  if (!series.live) return "Newest";
  return seconds < 3 * series.interval_seconds ? "Now" : `${age(seconds)} ago`;
}

/**
 * The newest reading in large figures.
 * @param {Series} series
 */
export function figures(series) {
  const { newest } = series;
  const pairs = newest
    ? [[howLongAgo(newest, series), count(newest.value)], ["Expected", count(newest.expected)], ["Off by", offBy(newest.pct)]]
    : [["Newest", "–"]];
  byId("chart").setAttribute("aria-label", `Readings of ${series.service}. ${pairs.map((pair) => pair.join(" ")).join(", ")}.`);
  byId("figures").replaceChildren(
    ...pairs.map(([name, value]) => make("div", { class: newest?.anomalous ? "flagged" : null }, make("dt", { text: name }), make("dd", { text: value }))),
  );
}

/**
 * Says that the chart shows a span instead of what is now.
 * @param {Span | null} span
 * @param {FeedInfo} feed
 */
export function span(span, feed) {
  byId("instant").hidden = !span;
  const { dated } = clockOf(shownZone(feed.timezone));
  if (span) byId("instant-text").textContent = `${dated(span.from)} to ${dated(span.to)}.`;
}

/** @param {string} text what the chart is of */
export function name(text) {
  byId("chart-title").textContent = text;
  document.title = `${text} · Sundial`;
}

/** @param {string} text what a chart would be of */
export function noChart(text) {
  name(text);
  for (const id of ["key", "besides", "loading", "instant"]) byId(id).hidden = true;
  byId("figures").replaceChildren();
  byId("to-explore").setAttribute("href", "/explore");
}

/**
 * Says that the feed has no service yet, or not this one.
 * @param {FeedInfo} feed
 * @param {string | null} service
 * @param {boolean} reading whether serving still reads what Kafka holds
 */
export function lackService(feed, service, reading) {
  if (service === null) return empty(byId("chart-empty"), `No reading and no baseline of ${feed.name} yet. Start its stream and send it readings:`, `sundial replay FILE --feed ${feed.name}`);
  const still = reading ? " Serving still reads what Kafka holds." : "";
  lack(`Feed ${feed.name} has no service ${service}.${still}`, `/?${new URLSearchParams({ only: feed.name })}`, `All services of ${feed.name}`);
}

/** Says that no such feed is declared. @param {string} name */
export function lackFeed(name) {
  byId("chart-note").textContent = "";
  lack(`No feed ${name} is declared.`, "/", "All services");
}

/** Says what does not exist, and leads to what does. @type {(message: string, href: string, text: string) => void} */
function lack(message, href, text) {
  const place = byId("chart-empty");
  if (!place.hidden && place.textContent === `${message} ${text}`) return; // so that the link keeps the focus
  empty(place, message);
  place.append(" ", make("a", { href, text }));
}

/**
 * Rows of anomalies, newest first; choosing one calls `choose` with it.
 * @param {KeptRows} rows
 * @param {AnomalyInfo[]} list
 * @param {FeedInfo} feed
 * @param {string | null} selected
 * @param {(anomaly: AnomalyInfo) => void} choose
 */
export function anomalies(rows, list, feed, selected, choose) {
  const timezone = shownZone(feed.timezone);
  byId("zone").textContent = `Time (${timezone})`;
  const shown = rows.show(list.map((each) => ({ key: `${each.at} ${each.service}`, from: [each, timezone], content: () => anomalyCells(each, timezone) })));
  list.forEach((each, place) => {
    shown[place].classList.toggle("selected", each.service === selected);
    shown[place].onclick = () => choose(each);
  });
  empty(byId("anomalies-empty"), list.length ? null : `Nothing broke the rule lately. ${ruleInWords(feed.rule)}.`);
}

/**
 * @param {AnomalyInfo} each
 * @param {string} timezone
 */
function anomalyCells(each, timezone) {
  const when = make("td", { class: "when" }, make("time", { datetime: each.at, text: clockOf(timezone).full(each.at) }));
  if (timezone !== "UTC") when.append(make("span", { class: "quiet utc", text: `${clockOf("UTC").time(each.at)} UTC` }));
  return [
    when,
    make("td", { class: "name" }, make("button", { type: "button", class: "link", text: each.service, title: "Show this service then" })),
    make("td", { class: "number got", text: count(each.value) }),
    make("td", { class: "number wanted", text: count(each.expected) }),
    make("td", { class: `number off ${each.value > each.expected ? "over" : "under"}`, text: offBy(each.pct), title: `${count(each.pct)} % of expected` }),
  ];
}

/**
 * @param {Baseline} baseline
 * @param {FeedInfo} feed
 * @param {RollBack} rollBack
 */
export function baseline({ in_force: force, history }, feed, rollBack) {
  const timezone = shownZone(feed.timezone);
  const zone = clockOf(timezone);
  byId("history-title").hidden = byId("history").hidden = !force;
  for (const id of ["all-versions", "all-results"]) byId(id).setAttribute("href", `/baselines?${new URLSearchParams({ feed: feed.name })}`);
  if (!force) {
    const none = nothing("No baseline was promoted yet, so nothing can be anomalous. In Airflow, trigger the DAG", `nightly_baseline.${feed.name}`);
    byId("baseline").replaceChildren(none);
    return;
  }
  const facts = [
    ["Since", `${zone.dated(force.promoted_at)} (${age((serverNow() - Date.parse(force.promoted_at)) / 1000)} ago)`],
    ["As of", force.as_of ?? "not said"],
    ["Candidate", force.candidate_version === null ? "not said" : `v${force.candidate_version}`],
    ["Run", force.run_id ?? "not said"],
  ];
  byId("baseline").replaceChildren(
    make("div", { class: "line" }, make("strong", { class: "version", text: `v${force.version}` }), gate(force)),
    make("p", { class: "how", text: how(force) }),
    make("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })])),
  );
  const wanted = JSON.stringify([feed.name, timezone, history, rollBack === null]);
  if (wanted === shownHistory) return;
  shownHistory = wanted;
  byId("history").replaceChildren(...history.map((each) => promotionRow(each, zone, each.version === force.version ? null : rollBack)));
}

let shownHistory = ""; // what is drawn: drawn again only when it changed, so that a button keeps the focus

/**
 * @param {PromotionInfo} each
 * @param {Zone} zone
 * @param {RollBack} rollBack
 */
function promotionRow(each, zone, rollBack) {
  const button = make("button", { type: "button", class: "link", text: `Roll back to v${each.version}` });
  button.addEventListener("click", () => rollBack?.(each));
  return make(
    "li",
    {},
    make("div", { class: "line" }, make("strong", { text: `v${each.version}` }), make("time", { datetime: each.promoted_at, text: zone.dated(each.promoted_at) }), gate(each)),
    make("p", { class: "how", text: how(each) }),
    make("p", { class: "quiet", text: origin(each) }),
    ...(rollBack ? [make("p", { class: "acts" }, button)] : []),
  );
}
