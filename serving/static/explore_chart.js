// A chart of one's own: lines and bands from several sources, on a left and a right axis. Drawn by uPlot.

/* global uPlot */
import { axes, besideLabels, colours } from "./chart_axes.js";
import { alone } from "./chart_columns.js";
import { columnsOf, idOf } from "./explore_lines.js";
import { TimeChart } from "./time_chart.js";

/** @import { ChartLine, Columns, Plot } from "../page.d.ts" */
/** @typedef {{ lines: ChartLine[], tables: Columns[], window: number[], zone: string, interval: number }} Drawn `tables`: seconds and values of each line */

/** Of the lines, in their order: variables of style.css. */
export const COLOURS = ["value", "beside-1", "beside-2", "beside-3", "beside-4", "earlier", "anomaly", "expected"];
/** Of lines on the right axis. */
export const DASH = [7, 4];
const EXPAND = 2; // as uPlot numbers what it makes of null
const FAINT = "30"; // opacity, at the end of a colour
const NOTHING = /** @type {Drawn} */ ({ lines: [], tables: [], window: [0, 0], zone: "UTC", interval: 0 });

const figures = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

/** @param {number | null | undefined} value */
export const figure = (value) => (value === null || value === undefined ? "–" : figures.format(value));

export class LinesChart extends TimeChart {
  /**
   * @param {HTMLElement} element
   * @param {(from: number, to: number) => void} zoom
   * @param {() => void} reset
   * @param {() => void} tell called when other values are at the pointer
   */
  constructor(element, zoom, reset, tell) {
    super(element, zoom, reset);
    this.tell = tell;
    this.drawn = NOTHING;
  }

  /** @param {Drawn} drawn */
  show(drawn) {
    const same = shapeOf(drawn) === shapeOf(this.drawn);
    this.drawn = drawn;
    if (!this.moving) this.view = null;
    if (same && this.plot) this.plot.setData(joined(drawn));
    else this.again();
  }

  /** @override */
  again() {
    this.replot(this.drawn.lines.length ? joined(this.drawn) : null, this.drawn.lines.length ? this.options() : {});
  }

  /** @override */
  get loaded() {
    return this.drawn.window;
  }

  /** @override */
  get interval() {
    return this.drawn.interval;
  }

  /** The seconds at the pointer; null: it is elsewhere. */
  get pointed() {
    const index = this.plot?.cursor.idx ?? null;
    return index === null ? null : (this.data[0]?.[index] ?? null);
  }

  options() {
    const { lines, zone } = this.drawn;
    const colour = colours();
    const [time, left] = axes(colour, zone);
    const values = (/** @type {Plot} */ _plot, /** @type {number[]} */ ticks) => ticks.map(figure);
    const sides = new Set(lines.map(sideOf));
    return {
      ...this.common,
      padding: [12, () => (sides.has("right") ? 0 : besideLabels(this.window)), 0, () => (sides.has("left") ? 0 : besideLabels(this.window))],
      scales: { x: { range: () => this.window.map((at) => at / 1000) }, left: { range: reach }, right: { range: reach } },
      axes: [time, { ...left, scale: "left", values, show: sides.has("left") }, { ...left, scale: "right", side: 1, values, show: sides.has("right"), grid: { ...left.grid, show: !sides.has("left") } }],
      series: [{}, ...lines.flatMap((line, place) => columnsOf(line).map(() => looks(line, colour(COLOURS[place]))))],
      bands: lines.flatMap((line, place) => bandOf(lines, line, `${colour(COLOURS[place])}${FAINT}`)),
      hooks: { setSelect: [(/** @type {Plot} */ plot) => this.dragged(plot)], setCursor: [() => this.tell()] },
    };
  }
}

/** What a plot is made for. @param {Drawn} drawn */
const shapeOf = ({ lines, zone }) => JSON.stringify([zone, lines.map((each) => [idOf(each), each.right])]);

/** On one axis of time. What lacks in a line stays a gap beside the times of others. @param {Drawn} drawn */
const joined = ({ tables }) => uPlot.join(tables.map((table) => table.map((column) => [...column])), tables.map((table) => table.map(() => EXPAND)));

/** @param {ChartLine} line */
const sideOf = (line) => (line.right ? "right" : "left");

/** @type {(line: ChartLine, stroke: string) => object} */
function looks(line, stroke) {
  const band = columnsOf(line).length > 1;
  return { scale: sideOf(line), stroke, width: band ? 1 : 2, ...(line.right && { dash: DASH }), points: { show: false, filter: alone, size: 5, fill: stroke } };
}

/** @type {(lines: ChartLine[], line: ChartLine, fill: string) => object[]} */
function bandOf(lines, line, fill) {
  if (columnsOf(line).length < 2) return [];
  const first = 1 + lines.slice(0, lines.indexOf(line)).flatMap(columnsOf).length;
  return [{ series: [first + 1, first], fill }];
}

/**
 * The part of an axis that suits values from `low` to `high`: from zero, unless they lie far from it.
 * @type {(plot: Plot, low: number | null, high: number | null) => number[]}
 */
function reach(_plot, low, high) {
  if (low === null || high === null) return [0, 1];
  const beside = (high - low || Math.abs(high) || 1) * 0.1;
  return [low >= 0 && low <= high * 0.4 ? 0 : low - beside, high + beside];
}
