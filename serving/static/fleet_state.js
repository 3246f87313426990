// What the page knows of all services: taken from /api/fleet, and kept up with the readings that come.

import { serverNow } from "./server_time.js";
import { INTERVALS } from "./sparkline.js";

/** @import { Fleet, FleetFeed, FleetRow, FleetService, IncidentInfo, ScoredPoint, SparkPoint } from "../page.d.ts" */

/** @type {(feed: string, service: string) => string} */
export const keyOf = (feed, service) => `${feed} ${service}`; // a feed's name has no blank

/** @type {(feed: FleetFeed) => number} by how many seconds its intervals begin after multiples of their length since the epoch */
const phase = (feed) => (Date.parse(feed.start) / 1000) % feed.interval_seconds;

/** @type {(feed: FleetFeed, at: string) => number} the number of the interval in which a moment lies */
const numberOf = (feed, at) => Math.floor((Date.parse(at) / 1000 - phase(feed)) / feed.interval_seconds);

export class FleetState {
  constructor() {
    this.asOf = /** @type {string | null} */ (null);
    this.feeds = /** @type {Map<string, FleetFeed>} */ (new Map());
    this.rows = /** @type {Map<string, FleetRow>} */ (new Map()); // in the order of the answer
    this.groups = /** @type {Map<string, IncidentInfo>} */ (new Map());
    this.ends = /** @type {Map<string, number>} */ (new Map()); // by feed, the number of the interval that its sparklines end with
  }

  /**
   * Takes an answer. Sparklines that it lacks, and readings newer than it, stay.
   * @param {Fleet} fleet
   */
  take(fleet) {
    this.asOf = fleet.as_of;
    this.feeds = new Map(fleet.feeds.map((each) => [each.name, each]));
    this.groups = new Map(fleet.groups.map((each) => [keyOf(each.feed, each.id), each]));
    const before = this.rows;
    this.rows = new Map();
    for (const each of fleet.services) {
      const key = keyOf(each.feed, each.name);
      const known = before.get(key);
      const points = this.points(each);
      const newer = (known?.points ?? []).filter((point) => !points.length || point.number > points[points.length - 1].number);
      const ahead = known && known.at !== null && (each.at === null || Date.parse(known.at) > Date.parse(each.at));
      const newest = ahead ? { at: known.at, value: known.value, expected: known.expected, pct: known.pct } : {};
      this.rows.set(key, { ...each, ...newest, key, points: [...points, ...newer] });
    }
    for (const row of this.rows.values()) this.reach(row.feed, row.points.at(-1)?.number ?? 0);
  }

  /**
   * The points of a sparkline, without gaps' places.
   * @param {FleetService} service
   */
  points(service) {
    const feed = /** @type {FleetFeed} */ (this.feeds.get(service.feed));
    const first = numberOf(feed, feed.start);
    const flagged = new Set(service.flagged);
    /** @type {SparkPoint[]} */
    const found = [];
    service.values.forEach((value, place) => {
      if (value !== null) found.push({ number: first + place, value, low: service.low[place], high: service.high[place], flagged: flagged.has(place) });
    });
    return found;
  }

  /**
   * Takes a reading as it comes; whether it makes another status likely, which serving has to be asked for.
   * @param {ScoredPoint} point
   */
  reading(point) {
    const row = this.rows.get(keyOf(point.feed, point.service));
    const feed = this.feeds.get(point.feed);
    if (!row || !feed) return true;
    const number = numberOf(feed, point.at);
    const others = row.points.filter((each) => each.number !== number && each.number > number - INTERVALS);
    others.push({ number, value: point.value, low: point.low, high: point.high, flagged: point.anomalous === true });
    row.points = others.sort((a, b) => a.number - b.number);
    this.reach(row.feed, number);
    if (row.at !== null && Date.parse(row.at) > Date.parse(point.at)) return false;
    const other = row.anomalous !== point.anomalous || (row.expected === null) !== (point.expected === null);
    Object.assign(row, { at: point.at, value: point.value, expected: point.expected, pct: point.pct, anomalous: point.anomalous });
    return other || row.status === "silent" || row.status === "unknown";
  }

  /**
   * Moves the end of a feed's sparklines on. A reading whose time lies ahead moves nothing.
   * @param {string} feed
   * @param {number} number
   */
  reach(feed, number) {
    const its = this.feeds.get(feed);
    const begin = its ? number * its.interval_seconds + phase(its) : number;
    if (1000 * begin <= serverNow()) this.ends.set(feed, Math.max(this.ends.get(feed) ?? 0, number));
  }
}
