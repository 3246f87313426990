// The timeline of incidents: a lane for each service, a bar from start to end for each incident.

import { arrange, byId, clockOf, count, make } from "./dom.js";
import { chartOf, denied, keyOf } from "./incident_rows.js";
import { inWords, whose } from "./incidents.js";
import { wallClock } from "./wall_clock.js";
import { shownZone } from "./zone.js";

/** @import { FeedInfo, IncidentInfo } from "../page.d.ts" */
/** @typedef {{ lane: HTMLElement, track: HTMLElement }} Lane */

const MOST_LANES = 12;
const MOST_TICKS = 7;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const STEPS = [HOUR / 60, HOUR / 6, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY];

/** All groups of a feed share a lane. @type {(incident: IncidentInfo) => string} */
const laneOf = ({ feed, service }) => `${feed} ${service}`;

/** @type {(position: number) => string} Of a part of the width. */
const percent = (position) => `${(100 * position).toFixed(3)}%`;

export class Lanes {
  /**
   * @param {HTMLElement} element
   * @param {(incident: IncidentInfo) => void} point called with the incident whose bar has the pointer or the focus
   */
  constructor(element, point) {
    this.element = element;
    this.point = point;
    this.lanes = /** @type {Map<string, Lane>} */ (new Map());
    this.bars = /** @type {Map<string, HTMLElement>} */ (new Map());
    this.shown = /** @type {Map<string, IncidentInfo>} */ (new Map());
    element.addEventListener("keydown", (event) => this.step(event));
  }

  /**
   * Those whose newest incident began last come first.
   * @param {IncidentInfo[]} incidents
   * @param {number[]} window epoch milliseconds
   * @param {Map<string, FeedInfo>} feeds
   * @param {string} zone
   */
  show(incidents, window, feeds, zone) {
    const newest = [...incidents].sort((a, b) => Date.parse(b.start) - Date.parse(a.start));
    const several = /** @type {Map<string, IncidentInfo[]>} */ (new Map());
    for (const each of newest) several.set(laneOf(each), [...(several.get(laneOf(each)) ?? []), each]);
    const seen = [...several].slice(0, MOST_LANES);
    const more = several.size - seen.length;
    const shown = seen.flatMap(([, its]) => its);
    this.shown = new Map(shown.map((each) => [keyOf(each), each]));
    for (const kept of this.bars.keys()) if (!this.shown.has(kept)) this.bars.delete(kept);
    for (const kept of this.lanes.keys()) if (!seen.some(([key]) => key === kept)) this.lanes.delete(kept);
    arrange(this.element, seen.map(([key, its]) => this.lane(key, its, window, feeds)));
    this.reachable();
    byId("lanes-more").hidden = !more;
    byId("lanes-more").textContent = more ? `and ${count(more)} more service${more === 1 ? "" : "s"}, which the list has` : "";
    this.axis(window, zone);
  }

  /**
   * @param {string} key
   * @param {IncidentInfo[]} its
   * @param {number[]} window
   * @param {Map<string, FeedInfo>} feeds
   */
  lane(key, its, window, feeds) {
    const [{ kind, service, feed }] = its;
    const known = this.lanes.get(key) ?? laneCalled(kind === "group" ? "Groups" : service, feed);
    this.lanes.set(key, known);
    const inTime = [...its].reverse();
    arrange(known.track, inTime.map((each) => this.bar(each, window, /** @type {FeedInfo} */ (feeds.get(each.feed)))));
    return known.lane;
  }

  /**
   * @param {IncidentInfo} incident
   * @param {number[]} window
   * @param {FeedInfo} feed
   */
  bar(incident, [from, to], feed) {
    const key = keyOf(incident);
    const bar = this.bars.get(key) ?? this.madeBar(key);
    const open = incident.end === null;
    const [start, end] = [incident.start, incident.end].map((at) => Math.min(Math.max(at === null ? to : Date.parse(at), from), to));
    bar.style.left = `min(${percent((start - from) / (to - from))}, 100% - 0.5rem)`; // so that the newest is seen, too
    bar.style.width = percent((end - start) / (to - from));
    bar.className = `bar ${incident.direction ?? "other"} ${open ? "open" : "closed"}${denied(incident) ? " denied" : ""}`;
    bar.setAttribute("href", chartOf(incident, feed));
    const zone = shownZone(feed.timezone);
    const text = `${whose(incident)} of ${feed.name}, ${open ? "open" : "closed"}: ${inWords(incident)}; from ${clockOf(zone).dated(incident.start)} ${zone}`;
    if (bar.getAttribute("aria-label") !== text) bar.setAttribute("aria-label", text);
    return bar;
  }

  /** @param {string} key */
  madeBar(key) {
    const bar = make("a", { "data-key": key });
    const point = () => {
      const incident = this.shown.get(key);
      if (incident) this.point(incident);
    };
    bar.addEventListener("pointerenter", point);
    bar.addEventListener("focus", () => {
      this.reachable(bar);
      point();
    });
    this.bars.set(key, bar);
    return bar;
  }

  /** All bars, lane by lane. */
  all() {
    return /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll(".bar")]);
  }

  /** Of all bars, the Tab key reaches one: the one that had the focus last, or else the first. @param {HTMLElement} [chosen] */
  reachable(chosen) {
    const bars = this.all();
    const one = chosen ?? bars.find((each) => each.tabIndex === 0) ?? bars[0];
    for (const each of bars) each.tabIndex = each === one ? 0 : -1;
  }

  /** @param {KeyboardEvent} event */
  step(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    const bars = this.all();
    const at = bars.findIndex((each) => each === document.activeElement);
    const steps = /** @type {Record<string, () => HTMLElement | undefined>} */ ({
      ArrowRight: () => bars[at + 1],
      ArrowLeft: () => bars[at - 1],
      ArrowDown: () => bars.slice(at).find((each) => each.parentElement !== bars[at].parentElement),
      ArrowUp: () => bars.slice(0, at).reverse().find((each) => each.parentElement !== bars[at].parentElement),
    });
    if (at < 0 || ctrlKey || metaKey || altKey || !Object.hasOwn(steps, key)) return;
    event.preventDefault();
    steps[key]()?.focus();
  }

  /**
   * Marks at round local times.
   * @param {number[]} window
   * @param {string} zone
   */
  axis([from, to], zone) {
    const clock = wallClock(zone);
    const step = STEPS.find((each) => (to - from) / each <= MOST_TICKS) ?? STEPS[STEPS.length - 1];
    const ticks = clock.marks(from, to, step).map((at) => {
      const position = (at - from) / (to - from);
      const text = clock.local(at) % DAY === 0 ? clockOf(zone).day(at) : clockOf(zone).time(at).slice(0, 5);
      const tick = make("span", { class: position > 0.75 ? "tick late" : "tick", text: position > 0.92 ? "" : text }); // it would be cut off
      tick.style.left = percent(position);
      return tick;
    });
    byId("axis").replaceChildren(...ticks);
  }
}

/** @type {(name: string, feed: string) => Lane} */
function laneCalled(name, feed) {
  const track = make("div", { class: "track" });
  return { lane: make("li", {}, make("p", { class: "of" }, make("span", { text: name }), " ", make("span", { class: "quiet", text: feed })), track), track };
}
