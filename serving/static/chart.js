// The chart of one service: value, what was expected, the band that the rule lets pass, anomalies. Drawn by uPlot.

/* global uPlot */
import { clock, count } from "./dom.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @import { Columns, Plot, Series, Shown } from "../page.d.ts" */

/**
 * Points and expected intervals of a series as uPlot's columns: seconds, value, low, high, expected, anomalous value.
 * @param {Series} series
 */
export function columns(series) {
  const rows = [...series.points, ...series.expected].map((each) => ({ ...each, x: Date.parse(each.at) / 1000 }));
  rows.sort((a, b) => a.x - b.x);
  /** @type {Columns} */
  const data = [[], [], [], [], [], []];
  let before = /** @type {number | null} */ (null);
  for (const row of rows) {
    if (before !== null && row.x - before > 1.5 * series.interval_seconds) push(data, before + series.interval_seconds, {});
    push(data, row.x, row);
    before = row.x;
  }
  return data;
}

/**
 * @param {Columns} data
 * @param {number} x
 * @param {{ value?: number | null, low?: number | null, high?: number | null, expected?: number | null, anomalous?: boolean | null }} row
 */
function push(data, x, { value = null, low = null, high = null, expected = null, anomalous = false }) {
  [x, value, low, high, expected, anomalous ? value : null].forEach((cell, column) => data[column].push(cell));
}

export class Chart {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
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

  /** What is drawn, as columns. */
  get data() {
    return this.plot?.data ?? [];
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
      cursor: { points: { size: 7 }, drag: { x: false, y: false } },
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
        { label: "Value", stroke: colour("value"), width: 2, points: { show: false }, value: number },
        { label: "Low", stroke: "transparent", points: { show: false }, value: number },
        { label: "Not flagged", stroke: "transparent", points: { show: false }, value: (/** @type {Plot} */ plot, /** @type {number} */ _high, /** @type {number} */ _column, /** @type {number | null} */ index) => passed(plot, index) },
        { label: "Expected", stroke: colour("expected"), width: 1.5, dash: [6, 4], points: { show: false }, value: number },
        {
          label: "Anomaly",
          stroke: colour("anomaly"),
          paths: () => null,
          points: { show: true, size: 6, width: 0, fill: colour("anomaly"), stroke: colour("anomaly") },
          value: number,
        },
      ],
      bands: [{ series: [3, 2], fill: colour("band") }],
      hooks: { draw: [(/** @type {Plot} */ plot) => mark(plot, shown(), colour("quiet"), time)] },
    };
  }
}

/**
 * The band at one index, in words.
 * @param {Plot} plot
 * @param {number | null} index
 */
function passed(plot, index) {
  if (index === null) return "–";
  const high = plot.data[3][index];
  return high == null ? "–" : `${count(plot.data[2][index])} to ${count(high)}`;
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
 * A dotted line at now, at the newest reading of a feed that lies in the past, or at the instant that was asked for.
 * @param {Plot} plot
 * @param {Shown} series
 * @param {string} colour
 * @param {(at: string) => string} time
 */
function mark(plot, series, colour, time) {
  const instant = series.at ?? series.end;
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
