// What the page of incidents is to show: kept in the URL, offered by the form at the top, and asked of serving.

import { byId, fill, inputById, selectById } from "./dom.js";
import { boundsOf, spanOf } from "./ranges.js";
import { followWindow, offerWindow } from "./window_choice.js";
import { shownZone } from "./zone.js";

/** @import { FeedInfo, IncidentFilter, IncidentInfo } from "../page.d.ts" */

const WINDOWS = [1440, 10_080, 50_400]; // minutes
const USUAL = 10_080;
const STATES = [["", "open and closed"], ["open", "open"], ["closed", "closed"]];
const KINDS = [["", "all"], ["deviation", "deviation"], ["silence", "silence"], ["group", "group"]];

/** @type {(given: string | null, offered: string[][]) => string} */
const oneOf = (given, offered) => (offered.some(([value]) => value === given) ? (given ?? "") : "");

/** @returns {IncidentFilter} */
export function fromUrl() {
  const given = new URLSearchParams(location.search);
  const minutes = Number(given.get("minutes"));
  return {
    feed: given.get("feed") ?? "",
    search: given.get("search") ?? "",
    state: oneOf(given.get("state"), STATES),
    kind: oneOf(given.get("kind"), KINDS),
    minutes: WINDOWS.includes(minutes) ? minutes : USUAL,
    span: spanOf(given.get("from"), given.get("to")),
  };
}

/**
 * As parameters: of the page's address, and of the question to serving.
 * @param {IncidentFilter} filter
 */
export function parameters({ feed, search, state, kind, minutes, span }) {
  return new URLSearchParams({ ...(feed && { feed }), ...(search && { search }), ...(state && { state }), ...(kind && { kind }), ...(span ?? { minutes: String(minutes) }) });
}

/**
 * Whether serving would give the incident for this filter: that decides about those that come live.
 * @param {IncidentInfo} incident
 * @param {IncidentFilter} filter
 */
export function passes(incident, filter) {
  const { feed, search, state, kind, span } = filter;
  const [from, to] = boundsOf(filter);
  const { start, end } = incident;
  const lasts = (end === null || Date.parse(end) > from) && (span === null || Date.parse(start) < to);
  const listed = search ? incident.kind !== "group" && incident.service.toLowerCase().includes(search.toLowerCase()) : incident.group === null;
  return lasts && listed && (!feed || incident.feed === feed) && (!kind || incident.kind === kind) && (!state || (end === null) === (state === "open"));
}

/**
 * The zone of the timeline: the one that is chosen, or else that of the feeds that are shown, or UTC if they have several.
 * @param {IncidentFilter} filter
 * @param {Map<string, FeedInfo>} feeds
 */
export function zoneOf({ feed }, feeds) {
  const zones = new Set([...feeds.values()].filter((each) => !feed || each.name === feed).map((each) => each.timezone));
  return shownZone(zones.size === 1 ? [...zones][0] : "UTC");
}

/**
 * Shows the filter in the form.
 * @param {IncidentFilter} filter
 * @param {Map<string, FeedInfo>} feeds
 */
export function offer(filter, feeds) {
  fill("feed", [["", "all feeds"], ...[...feeds.keys()].map((each) => [each, each])], filter.feed);
  fill("state", STATES, filter.state);
  fill("kind", KINDS, filter.kind);
  offerWindow(WINDOWS, filter);
  if (inputById("search").value !== filter.search) inputById("search").value = filter.search;
}

/**
 * Calls `choose` with what a person chooses in the form, and `dates` where that is from when to when.
 * @param {(change: Partial<IncidentFilter>) => void} choose
 * @param {() => void} dates
 */
export function follow(choose, dates) {
  byId("choice").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["feed", "state", "kind"]) selectById(name).addEventListener("change", () => choose({ [name]: selectById(name).value }));
  inputById("search").addEventListener("input", () => choose({ search: inputById("search").value }));
  followWindow(choose, dates);
}
