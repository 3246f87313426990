// What is chosen: feed, service, and a range or a span. It is kept in the URL and offered by the form at the top.

import { byId, make, selectById } from "./dom.js";
import { inWords, ranges, spanOf, usual } from "./ranges.js";

/** @import { FeedInfo, Span } from "../page.d.ts" */
/** @typedef {{ feed?: FeedInfo, service?: string | null, minutes?: number | null, span?: Span | null }} Choice What is to change. */

/**
 * What is chosen, and among what; `asked` finds a feed before anything else reads it.
 * @type {{ feeds: FeedInfo[], feed: FeedInfo, services: string[], service: string | null, minutes: number, span: Span | null }}
 */
export const chosen = { feeds: [], feed: /** @type {any} */ (null), services: [], service: null, minutes: 0, span: null };

/**
 * What the URL asks for. Without a feed that is declared, the one whose newest reading is the newest of all.
 * @returns {Choice}
 */
export function asked() {
  const parameters = new URLSearchParams(location.search);
  const busiest = [...chosen.feeds].sort((a, b) => (b.newest_at ?? "").localeCompare(a.newest_at ?? "") || b.services - a.services)[0];
  return {
    feed: chosen.feeds.find((each) => each.name === parameters.get("feed")) ?? busiest,
    service: parameters.get("service"),
    minutes: Number(parameters.get("minutes")),
    span: spanOf(parameters.get("from"), parameters.get("to")),
  };
}

/**
 * Takes over the feed and the part of time.
 * @param {Choice} choice
 */
export function takePart({ feed = chosen.feed, minutes = chosen.minutes, span = chosen.span }) {
  chosen.feed = feed;
  chosen.span = span;
  chosen.minutes = minutes !== null && ranges(feed).includes(minutes) ? minutes : usual(feed);
}

/**
 * Takes over the service, or `other` if the feed does not have it.
 * @param {string | null} service
 * @param {string[]} services
 * @param {string | undefined} other
 */
export function takeService(service, services, other) {
  chosen.services = services;
  chosen.service = service !== null && services.includes(service) ? service : (other ?? services[0] ?? null);
}

/** Puts the choice into the URL. @type {(how: string) => void} */
export function keep(how) {
  const { feed, service, minutes, span } = chosen;
  const query = new URLSearchParams({ feed: feed.name, ...(service !== null && { service }), minutes: String(minutes), ...span });
  if (location.search !== `?${query}`) history[how === "push" ? "pushState" : "replaceState"](null, "", `?${query}`);
}

/** Fills the form. */
export function offer() {
  /** @type {(pairs: (string | number)[][]) => HTMLElement[]} */
  const options = (pairs) => pairs.map(([value, text]) => make("option", { value, text }));
  byId("feed").replaceChildren(...options(chosen.feeds.map((each) => [each.name, each.name])));
  byId("service").replaceChildren(...options(chosen.services.length ? chosen.services.map((each) => [each, each]) : [["", "none yet"]]));
  selectById("service").disabled = !chosen.services.length;
  byId("window").replaceChildren(...options(ranges(chosen.feed).map((each) => [each, inWords(each)])));
  selectById("feed").value = chosen.feed.name;
  selectById("service").value = chosen.service ?? "";
  selectById("window").value = String(chosen.minutes);
}

/**
 * Calls `take` with what a person chooses in the form.
 * @param {(choice: Choice) => void} take
 */
export function follow(take) {
  byId("choice").addEventListener("submit", (event) => event.preventDefault());
  selectById("feed").addEventListener("change", () => take({ feed: chosen.feeds.find((each) => each.name === selectById("feed").value), service: null, minutes: null, span: null }));
  selectById("service").addEventListener("change", () => take({ service: selectById("service").value }));
  selectById("window").addEventListener("change", () => take({ minutes: Number(selectById("window").value), span: null }));
  byId("to-now").addEventListener("click", () => take({ span: null }));
}
