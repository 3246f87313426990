// What is chosen: feed, service, others beside it, a range or a span, and what this is compared with. It is kept in the URL and offered by the form at the top.

import { besides } from "./beside.js";
import { byId, inputById, make, selectById } from "./dom.js";
import { COMPARISONS, comparisonOf } from "./earlier.js";
import { ranges, spanOf, usual } from "./ranges.js";
import { followWindow, offerWindow } from "./window_choice.js";
import { putAddress } from "./zone.js";

/** @import { FeedInfo, Span } from "../page.d.ts" */
/** @typedef {{ feed?: FeedInfo, service?: string | null, beside?: string[], minutes?: number | null, span?: Span | null, comparison?: string }} Choice What is to change. */

/**
 * What is chosen, and among what; `asked` finds a feed before anything else reads it. `known`: whether the feed has the service.
 * @type {{ feeds: FeedInfo[], feed: FeedInfo, services: string[], known: boolean, service: string | null, beside: string[], minutes: number, span: Span | null, comparison: string }}
 */
export const chosen = { feeds: [], feed: /** @type {any} */ (null), services: [], known: false, service: null, beside: [], minutes: 0, span: null, comparison: "" };

/** The address of what the API has of the feed. */
export const path = (rest = "") => `/api/feeds/${encodeURIComponent(chosen.feed.name)}${rest}`;

/**
 * What the URL asks for. Without a feed, the one whose newest reading is the newest of all; of one that is not declared, none.
 * @returns {Choice}
 */
export function asked() {
  const parameters = new URLSearchParams(location.search);
  const busiest = [...chosen.feeds].sort((a, b) => (b.newest_at ?? "").localeCompare(a.newest_at ?? "") || b.services - a.services)[0];
  const feed = parameters.get("feed") ? chosen.feeds.find((each) => each.name === parameters.get("feed")) : busiest;
  return {
    feed,
    service: parameters.get("service") || null,
    beside: parameters.getAll("beside"),
    minutes: Number(parameters.get("minutes")),
    span: spanOf(parameters.get("from"), parameters.get("to"), feed?.interval_seconds),
    comparison: comparisonOf(parameters.get("compare")),
  };
}

/**
 * Takes over the feed, the part of time and the comparison.
 * @param {Choice} choice
 */
export function takePart({ feed = chosen.feed, minutes = chosen.minutes, span = chosen.span, comparison = chosen.comparison }) {
  chosen.feed = feed;
  chosen.span = span;
  chosen.comparison = comparison;
  chosen.minutes = minutes !== null && ranges(feed).includes(minutes) ? minutes : usual(feed);
}

/**
 * Takes over the service, also if the feed does not have it, and those beside it. Without one, `other`.
 * @param {string | null} service
 * @param {string[]} beside
 * @param {string[]} services
 * @param {string | undefined} other
 */
export function takeService(service, beside, services, other) {
  chosen.services = services;
  chosen.service = service ?? other ?? services[0] ?? null;
  chosen.known = chosen.service !== null && services.includes(chosen.service);
  chosen.beside = besides(beside, chosen.service, services);
}

/** Puts the choice into the URL. @type {(how: "pushState" | "replaceState") => void} */
export function keep(how) {
  const { feed, service, beside, minutes, span, comparison } = chosen;
  const query = new URLSearchParams({ feed: feed.name, ...(service !== null && { service }), minutes: String(minutes), ...span, ...(comparison && { compare: comparison }) });
  for (const each of beside) query.append("beside", each);
  putAddress(query, how);
}

/** Fills the form. What is chosen stays chosen, also if it does not exist. */
export function offer() {
  /** @type {(pairs: (string | number)[][]) => HTMLElement[]} */
  const options = (pairs) => pairs.map(([value, text]) => make("option", { value, text }));
  byId("feed").replaceChildren(...options(chosen.feeds.map((each) => [each.name, each.name])));
  const services = [...(chosen.known || chosen.service === null ? [] : [chosen.service]), ...chosen.services];
  byId("service").replaceChildren(...options(services.length ? services.map((each) => [each, each]) : [["", "none yet"]]));
  for (const id of ["service", "window", "comparison"]) selectById(id).disabled = id === "service" && !services.length;
  selectById("feed").value = chosen.feed.name;
  selectById("service").value = chosen.service ?? "";
  offerWindow(ranges(chosen.feed), chosen);
  const date = COMPARISONS.every(([each]) => each !== chosen.comparison);
  byId("comparison").replaceChildren(...options([...COMPARISONS, ["date", "a date…"]]));
  selectById("comparison").value = date ? "date" : chosen.comparison;
  inputById("comparison-date").hidden = !date;
  inputById("comparison-date").value = date ? chosen.comparison : "";
}

/** Offers the feeds alone, and the one that is asked for and is not declared. @param {string} name */
export function offerFeeds(name) {
  byId("feed").replaceChildren(...[name, ...chosen.feeds.map((each) => each.name)].map((each) => make("option", { value: each, text: each })));
  selectById("feed").value = name;
  for (const id of ["service", "window", "comparison"]) selectById(id).disabled = true;
}

/**
 * Calls `take` with what a person chooses in the form, and `dates` where that is from when to when.
 * @param {(choice: Choice) => void} take
 * @param {() => void} dates
 */
export function follow(take, dates) {
  byId("choice").addEventListener("submit", (event) => event.preventDefault());
  selectById("feed").addEventListener("change", () => {
    const feed = chosen.feeds.find((each) => each.name === selectById("feed").value);
    if (feed) take({ feed, service: null, minutes: null, span: null });
  });
  selectById("service").addEventListener("change", () => take({ service: selectById("service").value }));
  followWindow(take, dates);
  const [comparison, date] = [selectById("comparison"), inputById("comparison-date")];
  comparison.addEventListener("change", () => {
    date.hidden = comparison.value !== "date";
    if (date.hidden) take({ comparison: comparison.value });
    else date.focus();
  });
  date.addEventListener("change", () => comparisonOf(date.value) && take({ comparison: date.value }));
}
