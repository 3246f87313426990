// The axes of the chart of one service: which part of time and which values they have, and how these are written.

/** @import { Plot } from "../page.d.ts" */
/** @typedef {(name: string) => string} Colour of a name among the variables of style.css */

/** Whether the page is dark: a chart is drawn afresh when that changes. */
export const dark = matchMedia("(prefers-color-scheme: dark)");
/** Formats of a time axis: from which increment on, the format, and what is added where a new day begins. */
const DATED = [[86400, "{DD} {MMM}"], [60, "{HH}:{mm}", "\n{DD} {MMM}"], [1, "{HH}:{mm}:{ss}", "\n{DD} {MMM}"]];
/** Likewise, of an axis that has the times of one day and no date. */
export const TIMES_OF_DAY = [[60, "{HH}:{mm}"], [1, "{HH}:{mm}:{ss}"]];

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
 * uPlot's axes of time and value.
 * @param {Colour} colour
 */
export function axes(colour, times = DATED) {
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui" };
  return [
    { ...axis, space: 80, values: times.map(tick) },
    { ...axis, size: wide, values: (/** @type {Plot} */ _plot, /** @type {number[]} */ ticks) => written(ticks) },
  ];
}

/**
 * uPlot's format of axis values: [increment, format, and on change of day].
 * @param {(number | string)[]} axis
 */
function tick([increment, format, onNewDay]) {
  return [increment, format, null, null, onNewDay ?? null, null, null, null, 1];
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
