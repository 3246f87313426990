// The axes of a chart: which part of time and which values they have, and how these are written.

import { clockOf } from "./dom.js";
import { wallClock } from "./wall_clock.js";

/** @import { Plot } from "../page.d.ts" */
/** @typedef {(name: string) => string} Colour of a name among the variables of style.css */

const [MINUTE, DAY] = [60, 86_400]; // seconds
const DIGIT = 7; // pixels, about
const AROUND_LABEL = 22; // pixels: tick, gap, and the edge

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

/** @type {(values: number[]) => string[]} */
const written = (values) => values.map((value) => (Math.abs(values[values.length - 1]) < 100_000 ? whole : short).format(value));

/** @type {(plot: Plot, values: string[] | null) => number} As wide as its longest label. */
const wide = (_plot, values) => AROUND_LABEL + DIGIT * Math.max(3, ...(values ?? []).map((each) => each.length));

/**
 * Pixels to the right of the plot, for half of the last label: wider where labels have seconds.
 * @type {(window: number[]) => number} epoch milliseconds
 */
export const besideLabels = ([from, to]) => (to - from < 600_000 ? 32 : 20);

/** The colours of the page as it is now. @returns {Colour} */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

/** As large as a chart is to be drawn in there. @param {HTMLElement} element */
export const sizeIn = (element) => ({ width: element.clientWidth, height: Math.max(220, Math.min(380, Math.round(innerHeight * 0.42))) });

/**
 * uPlot's axes of time and value. uPlot itself would write times by the clock of the browser, which may skip an hour that the zone has.
 * @param {Colour} colour
 * @param {string} timeZone
 * @param {boolean} [dated] whether the axis names days
 */
export function axes(colour, timeZone, dated = true) {
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui" };
  return [
    {
      ...axis,
      space: 80,
      splits: (/** @type {Plot} */ _plot, /** @type {number} */ _axis, /** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ step) => wallClock(timeZone).marks(1000 * from, 1000 * to, 1000 * step).map((at) => at / 1000),
      values: (/** @type {Plot} */ _plot, /** @type {number[]} */ ticks, /** @type {number} */ _axis, /** @type {number} */ _space, /** @type {number} */ step) => timesIn(ticks, step, timeZone, dated),
    },
    { ...axis, size: wide, values: (/** @type {Plot} */ _plot, /** @type {number[]} */ ticks) => written(ticks) },
  ];
}

/**
 * What a time axis says: times, with the day below the first one of each day; or days, if it has nothing else.
 * @type {(ticks: number[], step: number, timeZone: string, dated: boolean) => string[]} seconds
 */
function timesIn(ticks, step, timeZone, dated) {
  const { date, time } = clockOf(timeZone);
  const days = ticks.map((at) => date(1000 * at));
  if (dated && step >= DAY) return days;
  return ticks.map((at, place) => {
    const text = time(1000 * at).slice(0, step < MINUTE ? 8 : 5);
    return dated && days[place] !== days[place - 1] ? `${text}\n${days[place]}` : text;
  });
}

/**
 * The part of the values' axis that suits values from `low` to `high`: from zero, unless they all lie far above it.
 * @param {number | null} low
 * @param {number | null} high
 */
export function upright(low, high) {
  if (low === null || high === null) return [0, 100];
  const top = Math.max(high, 1);
  return [low < top * 0.4 ? 0 : Math.max(0, low - (high - low) * 0.15), top + (high - low || top) * 0.1];
}
