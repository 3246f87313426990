// The rows of the page of streams: how each is, what is wrong, its figures, what its feed needs next, and where to go from there.

import { age, clockOf, count, make } from "./dom.js";
import { KeptRows } from "./kept_rows.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { FeedProgress, NextStep, StreamInfo, StreamOverview } from "../page.d.ts" */
/** @typedef {((name: string, on: boolean) => void) | null} SwitchStream of an operator; null for others */
/** @typedef {{ score: SwitchStream, queries: SwitchStream }} Switches */

const PILLS = { failing: "failing", attention: "needs attention", unfinished: "unfinished", well: "well", off: "off" };
const STATES = { starting: "Starts", running: "Runs", swapping: "Takes up another baseline", stopping: "Ends", dead: "Its driver is gone", stale: "Does not report" };
const REPORTING = ["starting", "running", "swapping", "stopping"];

/** @type {(each: StreamOverview) => boolean} */
export const wrong = ({ standing }) => standing === "failing" || standing === "attention";

export class OverviewRows {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.rows = new KeptRows(element);
    this.shown = /** @type {{ row: HTMLElement, each: StreamOverview }[]} */ ([]);
  }

  /**
   * @param {StreamOverview[]} streams in their order
   * @param {Switches} switches
   */
  show(streams, switches) {
    const rows = this.rows.show(streams.map((each) => rowOf(each, switches[each.stream])));
    this.shown = streams.map((each, place) => ({ row: rows[place], each }));
    for (const { row, each } of this.shown) row.className = `is-${each.standing}`;
    this.count();
  }

  /** Writes what changes from second to second. */
  count() {
    for (const { row, each } of this.shown) {
      write(row, ".state", stateInWords(each.info));
      for (const [name, text] of facts(each)) write(row, `[data-fact="${name}"]`, text);
    }
  }
}

/** @type {(each: StreamOverview, switchIt: SwitchStream) => import("./kept_rows.js").Row} */
function rowOf(each, switchIt) {
  const { name, stream, description, queries, standing, troubles, info, feed, next_step: next } = each;
  const names = facts(each).map(([fact]) => fact);
  const content = () => [
    make("div", { class: "line" }, make("h3", {}, make("a", { href: pageOf(each), text: name })), make("span", { class: "quiet", text: feed ? "scoring" : "queries" }), make("span", { class: `pill is-${standing}`, text: PILLS[standing] })),
    make("p", { class: "quiet", text: description ?? queries.join(", ") }),
    make("p", { class: "how state" }),
    ...troubles.map((text) => make("p", { class: "trouble", text })),
    make("dl", { class: "facts" }, ...names.flatMap((fact) => [make("dt", { text: fact }), make("dd", { "data-fact": fact })])),
    ...(next ? [nextInWords(each, next)] : []),
    make("p", { class: "acts" }, ...buttons(each, switchIt), ...links(each)),
  ];
  const from = [description, queries, standing, troubles, names, next, isOff(info), fails(info), links(each).map((link) => link.outerHTML), switchIt === null];
  return { key: `${name}.${stream}`, from, content };
}

/** @type {(each: StreamOverview) => string} */
const pageOf = ({ name, feed, queries }) => (feed ? `/?${new URLSearchParams({ feed: name })}` : `/queries?${new URLSearchParams({ query: queries[0] })}`);

/** @type {(info: StreamInfo | null) => boolean} */
const isOff = (info) => info === null || info.switched_off;

/** @type {(info: StreamInfo | null) => boolean} */
const fails = (info) => info !== null && !info.switched_off && (info.given_up || info.problem !== null);

/** @param {StreamInfo | null} info */
function stateInWords(info) {
  if (info === null) return "It has never run.";
  const words = info.state === "stopped" ? (info.switched_off ? "Switched off" : "Has ended, and is launched again") : STATES[info.state];
  return info.since === null ? `${words}.` : `${words} since ${dated(info.since)} (${ageOf(info.since)}).`;
}

/** Date and time, with the zone. @param {string} at */
const dated = (at) => `${clockOf(shownZone("UTC")).dated(at)} ${shownZone("UTC")}`;

/** @param {string} at */
const ageOf = (at) => age(Math.max(0, (serverNow() - Date.parse(at)) / 1000));

/**
 * Names and values. What a driver that is gone or hangs last reported says nothing about the present, but for its error.
 * @param {StreamOverview} each
 * @returns {[string, string][]}
 */
function facts({ info, feed }) {
  return [...(info ? ofStream(info, feed) : []), ...(feed ? ofFeed(feed) : [])];
}

/**
 * @param {StreamInfo} info
 * @param {FeedProgress | null} feed
 * @returns {[string, string][]}
 */
function ofStream(info, feed) {
  const { health, heartbeat_at: beat, restarts, launched_at: launched, last_error: error, query_started_at: began } = info;
  const now = /** @type {[string, string][]} */ ([
    ["Lag", lag(health.lag_records, health.lag_seconds)],
    [feed ? "Readings a second" : "Records a second", count(health.input_per_second)],
    ["Dead letters", `${count(health.dead_letters)}${began === null ? "" : ` since ${dated(began)}`}`],
    ...(feed ? [["Baseline in use", inUse(info.baseline_version, feed.baseline_version)]] : []),
  ]);
  return [
    ...(REPORTING.includes(info.state) ? now : []),
    ["Restarts", restarts && launched ? `${count(restarts)}, the last ${ageOf(launched)} ago` : count(restarts)],
    ["Heartbeat", beat === null ? "none yet" : `${ageOf(beat)} ago`],
    ...(error === null ? [] : /** @type {[string, string][]} */ ([["Last error", error]])),
  ];
}

/** @type {(records: number | null, seconds: number | null) => string} */
function lag(records, seconds) {
  if (records === null) return "not measured yet";
  return records ? `${count(records)} waiting, the oldest ${age(seconds ?? 0)}` : "none";
}

/** @type {(used: number | null, inForce: number | null) => string} */
function inUse(used, inForce) {
  const uses = used === null ? "not reported yet" : used < 0 ? "none" : `v${used}`;
  if (used !== null && used === (inForce ?? -1)) return used < 0 ? "none is in force" : `${uses}, in force`;
  return `${uses}; in force: ${inForce === null ? "none" : `v${inForce}`}`;
}

/**
 * @param {FeedProgress} feed
 * @returns {[string, string][]}
 */
function ofFeed({ newest_at: newest, archived_dates: dates, archived_until: until, gate, baseline_version: version, promoted_at: promoted }) {
  const found = gate ? `candidate v${gate.candidate_version} ${gate.success ? "passed the gate" : "was refused"} ${ageOf(gate.checked_at)} ago` : "no candidate was judged yet";
  return [
    ["Newest reading", newest === null ? "none yet" : `${ageOf(newest)} ago`],
    ["History", dates === null ? "can't be read" : dates ? `${count(dates)} date${dates === 1 ? "" : "s"}, until ${until}` : "empty"],
    ["Baseline", version === null ? "none in force" : `v${version}${promoted === null ? "" : `, in force for ${ageOf(promoted)}`}`],
    ["Nightly job", found],
  ];
}

/** @type {(each: StreamOverview, next: NextStep) => HTMLElement} */
function nextInWords({ name }, { kind, text, command }) {
  const gate = make("a", { class: "link", href: gateOf(name), text: "See the gate's result" });
  return make("p", { class: "next" }, make("strong", { text: "Next: " }), text, ...(command ? [" ", make("code", { text: command })] : []), ...(kind === "decide" ? [" ", gate] : []));
}

/** @param {string} feed */
const gateOf = (feed) => `/baselines?${new URLSearchParams({ feed })}`;

/** One that fails can be switched either way: its DAG may be paused, or not. @type {(each: StreamOverview, switchIt: SwitchStream) => HTMLElement[]} */
function buttons({ name, info }, switchIt) {
  if (!switchIt) return [];
  const offered = fails(info) ? [true, false] : [isOff(info)];
  return offered.map((on) => {
    const text = `Switch ${on ? "on" : "off"}`;
    const button = make("button", { type: "button", class: "link", text, "aria-label": `${text} ${name}` });
    button.addEventListener("click", () => switchIt(name, on));
    return button;
  });
}

/** @param {StreamOverview} each */
function links({ name, info, supervision, feed }) {
  const inside = feed ? [["Dead letters", `/?${new URLSearchParams({ feed: name })}#letters-card`], ["Baselines and gate", gateOf(name)]] : [];
  const outside = [["Supervision in Airflow", supervision], ["Nightly job in Airflow", feed?.nightly], ["Spark", info?.spark_history]];
  return [...inside, ...outside].flatMap(([text, href]) => (href ? [make("a", { class: "link", href, text, "aria-label": `${text}: ${name}`, ...(href.startsWith("/") ? {} : { target: "_blank", rel: "noreferrer" }) })] : []));
}

/** @type {(row: HTMLElement, part: string, text: string) => void} */
function write(row, part, text) {
  const element = /** @type {HTMLElement} */ (row.querySelector(part));
  if (element.textContent !== text) element.textContent = text;
}
