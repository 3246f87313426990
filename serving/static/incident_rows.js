// The rows of the page of incidents: each incident in words, with its times, what it came to, and what people said of it.

import { clockOf, count, make, offBy } from "./dom.js";
import { inWords, members, pill, remarks, sayHow, whose } from "./incidents.js";
import { KeptRows } from "./kept_rows.js";
import { around, sight, usual } from "./ranges.js";
import { serverNow } from "./server_time.js";
import { shownZone } from "./zone.js";

/** @import { FeedInfo, IncidentInfo, Span } from "../page.d.ts" */
/** @import { Acts } from "./incidents.js" */
/** @typedef {(feed: FeedInfo) => Acts} ActsOf */

/** @type {(incident: IncidentInfo) => string} */
export const keyOf = ({ feed, id }) => `${feed} ${id}`; // a feed's name has no blank

/** Whether a person called it a false alarm. @type {(incident: IncidentInfo) => boolean} */
export const denied = ({ verdict }) => verdict?.kind === "false";

/**
 * The address of the chart that has the incident in sight; of a group, the chart of its first member.
 * @param {IncidentInfo} incident
 * @param {FeedInfo} feed
 */
export function chartOf(incident, feed) {
  const [first] = incident.members;
  const service = incident.kind === "group" && first ? first.slice(0, first.lastIndexOf("@")) : incident.service;
  const { span, minutes } = sight(incident, feed, serverNow());
  return address(feed, service, span, minutes);
}

/** @type {(feed: FeedInfo, service: string, span: Span | null, minutes?: number) => string} */
const address = (feed, service, span, minutes) => `/?${new URLSearchParams({ feed: feed.name, service, ...(minutes !== undefined && { minutes: String(minutes) }), ...span })}`;

export class IncidentRows {
  /**
   * @param {HTMLElement} element
   * @param {ActsOf} actsOf
   */
  constructor(element, actsOf) {
    this.rows = new KeptRows(element);
    this.actsOf = actsOf;
  }

  /**
   * @param {IncidentInfo[]} incidents
   * @param {Map<string, FeedInfo>} feeds
   */
  show(incidents, feeds) {
    const shown = this.rows.show(
      incidents.map((each) => {
        const feed = /** @type {FeedInfo} */ (feeds.get(each.feed));
        const acts = this.actsOf(feed);
        return { key: keyOf(each), from: [each, acts !== null, shownZone(feed.timezone)], content: () => content(each, feed, acts) };
      }),
    );
    incidents.forEach((each, place) => sayHow(shown[place], each));
  }

  /** @param {string | null} key of the row that stands out */
  mark(key) {
    for (const [each, { row }] of this.rows.rows) row.classList.toggle("selected", each === key);
  }
}

/**
 * @param {IncidentInfo} each
 * @param {FeedInfo} feed
 * @param {Acts} acts
 */
function content(each, feed, acts) {
  const timezone = shownZone(feed.timezone);
  const zone = clockOf(timezone);
  const group = each.kind === "group";
  const who = group ? make("strong", { text: whose(each) }) : make("a", { href: chartOf(each, feed), text: whose(each) });
  if (!group) who.addEventListener("click", () => who.setAttribute("href", chartOf(each, feed))); // of an open one, until now
  const what = make("div", { class: "what" }, make("p", { class: "how", text: inWords(each) }), make("p", { class: "quiet", text: each.cause }));
  const impact = impactInWords(each);
  if (impact) what.append(make("p", { class: "quiet impact", text: impact }));
  what.append(...remarks(each, zone, acts));
  if (group) what.append(members(each, zone, ({ service, start }) => location.assign(address(feed, service, around(start, usual(feed))))));
  const times = [make("time", { datetime: each.start, text: zone.dated(each.start) })];
  if (each.end !== null) times.push(make("time", { class: "until", datetime: each.end, text: `to ${zone.dated(each.end)}` }));
  return [
    make("p", { class: "state" }, pill(each)),
    make("div", { class: "who" }, who, make("span", { class: "quiet", text: feed.name })),
    what,
    make("p", { class: "when" }, ...times, make("span", { class: "quiet", text: timezone })),
  ];
}

/** What it came to; empty where the incident has no sums. @param {IncidentInfo} incident */
function impactInWords({ actual, expected, area, readings }) {
  if (actual === null || expected === null) return "";
  const several = `${count(readings)} unusual reading${readings === 1 ? "" : "s"}`;
  const off = expected > 0 ? ` (${offBy((100 * actual) / expected)})` : "";
  const apart = area === null ? "" : `, ${count(area)} apart`;
  return `${several}: ${count(actual)} in all, ${count(expected)} expected${off}${apart}`;
}
