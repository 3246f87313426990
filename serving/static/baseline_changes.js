// What differs between two versions of a baseline, or what a candidate changes, service by service: which change is the largest, and all of it in words.

import { sentence } from "./baseline_sides.js";
import { offBy } from "./dom.js";

/** @import { BaselineChange } from "../page.d.ts" */
/** @typedef {"more" | "less" | "shifted" | "added" | "removed"} Way what became of a service */
/** @typedef {{ service: string, days: Map<number, BaselineChange>, way: Way, size: number, largest: number }} ServiceChange size: the largest of its days, in percentage points; Infinity where none has a percentage */

const ALL_DAYS = 7;
const AS_MUCH = 0.05; // percent: what is written as 0 %

/** @type {(change: BaselineChange) => number} */
const off = ({ pct }) => (pct === null ? 0 : pct - 100);

/** @type {(changes: BaselineChange[]) => number} What is new or gone on all its days has no percentage, and comes first. */
function sizeOf(changes) {
  const percentages = changes.filter(({ pct }) => pct !== null);
  return percentages.length ? Math.max(...percentages.map((each) => Math.abs(off(each)))) : Infinity;
}

/**
 * The services that changed, the largest change first.
 * @param {BaselineChange[]} changes
 * @returns {ServiceChange[]}
 */
export function byService(changes) {
  const days = /** @type {Map<string, Map<number, BaselineChange>>} */ (new Map());
  for (const each of changes) {
    const own = days.get(each.service) ?? new Map();
    days.set(each.service, own.set(each.day_type, each));
  }
  const found = [...days].map(([service, own]) => {
    const all = [...own.values()];
    return { service, days: own, way: wayOf(all), size: sizeOf(all), largest: Math.max(...all.map((each) => Math.abs(each.largest ?? 0))) };
  });
  return found.sort((a, b) => descending(a.size, b.size) || b.largest - a.largest || a.service.localeCompare(b.service));
}

/** Infinity less Infinity would be no number. @type {(a: number, b: number) => number} */
const descending = (a, b) => (a === b ? 0 : b > a ? 1 : -1);

/** @type {(changes: BaselineChange[]) => Way} */
function wayOf(changes) {
  const both = changes.filter(({ change }) => change === "changed");
  if (!both.length) return changes.some(({ change }) => change === "added") ? "added" : "removed";
  const [before, after] = [both.reduce((sum, each) => sum + (each.mean_before ?? 0), 0), both.reduce((sum, each) => sum + (each.mean_after ?? 0), 0)];
  if (Math.abs(after - before) <= (AS_MUCH / 100) * before) return "shifted";
  return after > before ? "more" : "less";
}

/** @type {(number: number) => string} */
const services = (number) => `${number.toLocaleString("en")} service${number === 1 ? "" : "s"}`;

/**
 * @param {ServiceChange[]} list
 * @param {string} before its name
 * @param {string} after
 * @param {string[] | null} known the services that `after` knows; null where the page does not know them
 */
export function inWords(list, before, after, known) {
  /** @type {(way: Way) => ServiceChange[]} */
  const of = (way) => list.filter((each) => each.way === way);
  /** @type {(own: ServiceChange[], farthest: (...offs: number[]) => number, words: string) => string} */
  const upTo = (own, farthest, words) => {
    const offs = own.flatMap(({ days }) => [...days.values()].filter(({ pct }) => pct !== null).map(off));
    return offs.length ? `, ${words} ${offBy(100 + farthest(...offs))}` : "";
  };
  const [more, less, shifted] = [of("more"), of("less"), of("shifted")];
  const expects = [
    more.length ? `more of ${services(more.length)}${upTo(more, Math.max, "up to")}` : "",
    less.length ? `less of ${services(less.length)}${upTo(less, Math.min, "down to")}` : "",
    shifted.length ? `as much of ${services(shifted.length)}, but at other times` : "",
  ].filter(Boolean);
  const changed = new Set(list.map((each) => each.service));
  const same = known?.filter((each) => !changed.has(each)).length ?? 0;
  const rest = [arrived(of("added"), "new"), arrived(of("removed"), "gone"), same ? `${services(same)} ${is(same)} as before` : ""];
  if (!list.length) return sentence(`${after} expects the same as ${before}${known ? ` of ${services(same)}` : ""}.`);
  return sentence(`${[expects.length ? `${after} expects ${expects.join(", ")}` : "", ...rest].filter(Boolean).join("; ")}.`);
}

/** @type {(number: number) => string} */
const is = (number) => (number === 1 ? "is" : "are");

/** A service of which a version begins or ceases to know some days only is known all the same. @type {(list: ServiceChange[], what: string) => string} */
function arrived(list, what) {
  const whole = list.filter(({ days }) => days.size === ALL_DAYS).length;
  const partly = list.length - whole;
  return [whole && `${services(whole)} ${is(whole)} ${what}`, partly && `${services(partly)} ${is(partly)} ${what} on some days`].filter(Boolean).join("; ");
}
