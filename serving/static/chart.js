// The chart of one service: value, what was expected, the band that the rule lets pass, anomalies. Drawn by uPlot.

/* global uPlot */
import { clock, count } from "./dom.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @import { Buckets, Columns, Plot, Series, Shown } from "../page.d.ts" */

/**
 * A series as uPlot's columns: seconds, value, low, high, expected, anomalous value, lowest, highest.
 * @param {Series} series
 * @returns {Columns}
 */
export function columns({ start, bucket_seconds: length, buckets }) {
  const first = Date.parse(start) / 1000;
  const seconds = buckets.count.map((_, index) => first + index * length);
  const anomalous = buckets.count.map((_, index) => farthest(buckets, index));
  return [seconds, buckets.mean, buckets.low, buckets.high, buckets.expected, anomalous, buckets.min, buckets.max];
}

/**
 * The reading of a bucket that is farthest from what is expected, if there is an anomaly in it.
 * @param {Buckets} buckets
 * @param {number} index
 */
function farthest({ anomalies, expected, min, max }, index) {
  const [low, high, normal] = [min[index], max[index], expected[index]];
  if (!anomalies[index] || low === null || high === null) return null;
  return normal !== null && normal - low > high - normal ? low : high;
}

/**
 * Indexes of readings that no line reaches, as there is none beside them.
 * @type {(plot: Plot, column: number, show: boolean) => number[] | null}
 */
function alone(plot, column, show) {
  const values = plot.data[column];
  return show ? null : values.flatMap((value, index) => (value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null ? [index] : []));
}

export class Chart {
  /**
   * @param {HTMLElement} element
   * @param {(from: number, to: number) => void} zoom called with epoch milliseconds, when a part is dragged over
   * @param {() => void} reset called at a double click
   */
  constructor(element, zoom, reset) {
    this.element = element;
    this.zoom = zoom;
    this.reset = reset;
    this.series = /** @type {Shown | null} */ (null);
    this.plot = /** @type {Plot | null} */ (null);
    dark.addEventListener("change", () => this.show(this.series));
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(element);
  }

  /**
   * Draws a series from scratch: other service, window or colours.
   * @param {Shown | null} series
   */
  show(series) {
    this.plot?.destroy();
    this.plot = null;
    this.series = series;
    if (series) this.plot = new uPlot(this.options(series), columns(series), this.element);
  }

  /**
   * Draws newer data of the same series.
   * @param {Shown} series
   */
  update(series) {
    this.series = series;
    this.plot?.setData(columns(series));
  }

  /** @param {Plot} plot of which a part was dragged over */
  dragged(plot) {
    const { left, width } = plot.select;
    if (width <= 0) return;
    const [from, to] = [left, left + width].map((position) => 1000 * plot.posToVal(position, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoom(from, to);
  }

  /** What is drawn, as columns. */
  get data() {
    return this.plot?.data ?? [];
  }

  /** In pixels, as serving takes it. */
  get width() {
    return Math.min(4000, Math.max(10, this.element.clientWidth));
  }

  size() {
    return { width: this.element.clientWidth, height: Math.max(220, Math.min(380, Math.round(innerHeight * 0.42))) };
  }

  /** @param {Shown} series of which the time zone stays; the window is that of the newest data. */
  options(series) {
    const shown = () => this.series ?? series;
    const style = getComputedStyle(document.documentElement);
    /** @type {(name: string) => string} */
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const { time, full } = clock(series.timezone);
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui" };
    /** @type {(plot: Plot, value: number | null) => string} */
    const number = (_plot, value) => count(value);
    return {
      ...this.size(),
      tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1000), series.timezone),
      padding: [12, 12, 0, 0],
      cursor: { points: { size: 7 }, drag: { x: true, y: false, setScale: false, dist: 8 }, bind: { dblclick: () => () => this.reset() } },
      scales: {
        x: { range: () => [Date.parse(shown().start) / 1000, Date.parse(shown().until) / 1000] },
        y: { range: (/** @type {Plot} */ _plot, /** @type {number | null} */ low, /** @type {number | null} */ high) => span(low, high) },
      },
      axes: [
        { ...axis, space: 80, values: [[86400, "{DD} {MMM}"], [3600, "{HH}:{mm}", "\n{DD} {MMM}"], [1, "{HH}:{mm}", "\n{DD} {MMM}"]].map(tick) },
        { ...axis, size: 56, values: (/** @type {Plot} */ _plot, /** @type {number[]} */ ticks) => ticks.map(count) },
      ],
      series: [
        { label: "Time", value: (/** @type {Plot} */ _plot, /** @type {number | null} */ seconds) => (seconds == null ? "–" : `${full(seconds * 1000)} · ${clock("UTC").time(seconds * 1000)} UTC`) },
        { label: "Value", stroke: colour("value"), width: 2, points: { show: false, filter: alone, size: 4, fill: colour("value") }, value: number },
        { label: "Low", stroke: "transparent", points: { show: false }, value: number },
        { label: "Not flagged", stroke: "transparent", points: { show: false }, value: (/** @type {Plot} */ plot, /** @type {number} */ _high, /** @type {number} */ _column, /** @type {number | null} */ index) => between(plot, index, 2) },
        { label: "Expected", stroke: colour("expected"), width: 1.5, dash: [6, 4], points: { show: false }, value: number },
        {
          label: "Anomaly",
          stroke: colour("anomaly"),
          paths: () => null,
          points: { show: true, size: 6, width: 0, fill: colour("anomaly"), stroke: colour("anomaly") },
          value: number,
        },
        { label: "Lowest", stroke: "transparent", points: { show: false }, value: number },
        { label: "Lowest to highest", stroke: "transparent", points: { show: false }, value: (/** @type {Plot} */ plot, /** @type {number} */ _high, /** @type {number} */ _column, /** @type {number | null} */ index) => between(plot, index, 6) },
      ],
      bands: [{ series: [3, 2], fill: colour("band") }, { series: [7, 6], fill: colour("range") }],
      hooks: { setSelect: [(/** @type {Plot} */ plot) => this.dragged(plot)], draw: [(/** @type {Plot} */ plot) => mark(plot, shown(), colour("quiet"), time)] },
    };
  }
}

/**
 * Two columns at one index, in words.
 * @param {Plot} plot
 * @param {number | null} index
 * @param {number} column of the lower one; the higher one is beside it
 */
function between(plot, index, column) {
  if (index === null) return "–";
  const [low, high] = [plot.data[column][index], plot.data[column + 1][index]];
  return high == null ? "–" : `${count(low)} to ${count(high)}`;
}

/**
 * uPlot's format of axis values: [increment, format, and on change of day].
 * @param {(number | string)[]} axis
 */
function tick([increment, format, onNewDay]) {
  return [increment, format, null, null, onNewDay ?? null, null, null, null, 1];
}

/**
 * @param {number | null} low
 * @param {number | null} high
 */
function span(low, high) {
  if (low === null || high === null) return [0, 100];
  const top = Math.max(high, 1);
  return [low < top * 0.4 ? 0 : Math.max(0, low - (high - low) * 0.15), top + (high - low || top) * 0.1];
}

/**
 * A dotted line at now, or at the newest reading of a feed that lies in the past.
 * @param {Plot} plot
 * @param {Shown} series
 * @param {string} colour
 * @param {(at: string) => string} time
 */
function mark(plot, series, colour, time) {
  if (series.fixed) return;
  const instant = series.end;
  const x = Math.round(plot.valToPos(Date.parse(instant) / 1000, "x", true));
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = scale;
  ctx.setLineDash([2 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.textAlign = "left";
  ctx.font = `${11 * scale}px system-ui`;
  ctx.fillText(series.live && !series.stale ? "now" : time(instant), x + 5 * scale, bbox.top + 11 * scale);
  ctx.restore();
}
