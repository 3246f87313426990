// What two versions of a baseline, or a version and a candidate, expect of one service and day type, by time of day, with the spread of the newer one. Drawn by uPlot.

/* global uPlot */
import { axes, colours, sizeIn, upright } from "./chart_axes.js";
import { byId, count, offBy } from "./dom.js";

/** @import { BaselineRow, Columns, Plot, Rule } from "../page.d.ts" */
/** @typedef {{ before: BaselineRow[], after: BaselineRow[], newer: BaselineRow[], interval: number, normal: Rule["normal"] }} Courses by slot; of a version that does not know the day type, none */

const STEP = 0.01; // of the day, for each press of an arrow key

export class BaselineChart {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.plot = /** @type {Plot | null} */ (null);
    this.courses = /** @type {Courses | null} */ (null);
    addEventListener("theme", () => this.show(this.courses));
    new ResizeObserver(() => this.plot?.setSize(sizeIn(element))).observe(element);
    element.addEventListener("keydown", (event) => this.move(event));
  }

  /** @param {Courses | null} courses null: nothing is chosen */
  show(courses) {
    this.plot?.destroy();
    this.plot = null;
    this.courses = courses;
    if (!courses) return;
    this.plot = new uPlot(this.options(), columns(courses), this.element);
    this.tell();
  }

  /** What is drawn, as columns: seconds of the day, before, after, lowest and highest of the spread. */
  get data() {
    return this.plot?.data ?? [];
  }

  options() {
    const colour = colours();
    const edge = { stroke: "transparent", points: { show: false } }; // of the spread
    return {
      ...sizeIn(this.element),
      padding: [12, 20, 0, 0],
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: false, dist: 8 } },
      scales: { y: { range: (/** @type {Plot} */ _plot, /** @type {number | null} */ low, /** @type {number | null} */ high) => upright(low, high) } },
      axes: axes(colour, "UTC", false), // seconds of a day that is none of the calendar
      series: [
        {},
        { stroke: colour("expected"), width: 1.5, dash: [6, 4], points: { show: false } },
        { stroke: colour("value"), width: 2, points: { show: false } },
        edge,
        edge,
      ],
      bands: [{ series: [4, 3], fill: colour("band") }],
      hooks: { setCursor: [() => this.tell()] },
    };
  }

  /** An arrow key moves to an earlier or a later time of day, Escape back to the largest change. @param {KeyboardEvent} event */
  move(event) {
    const { plot } = this;
    const step = { ArrowLeft: -1, ArrowRight: 1, Escape: 0 }[event.key];
    if (!plot || step === undefined) return;
    const seconds = plot.data[0];
    const to = Math.max(0, Math.min(seconds.length - 1, this.index + step * Math.max(1, Math.round(seconds.length * STEP))));
    plot.setCursor(step ? { left: plot.valToPos(/** @type {number} */ (seconds[to]), "x", false), top: 0 } : { left: -10, top: -10 });
    event.preventDefault();
  }

  /** Of the pointer, or else of the largest change. */
  get index() {
    const [, before, after] = this.data;
    return this.plot?.cursor.idx ?? farthest(before, after);
  }

  /** Says what is at the pointer, or else at the largest change. */
  tell() {
    if (!this.plot) return;
    const [seconds, before, after, low, high] = this.data.map((column) => column[this.index] ?? null);
    const pointed = typeof this.plot.cursor.idx === "number";
    const largest = pointed || before === null || after === null ? "" : "Largest change: ";
    byId("at").textContent = seconds === null ? "" : `${largest}${timeOf(seconds)}`;
    byId("at-before").textContent = count(before);
    byId("at-after").textContent = count(after);
    byId("at-spread").textContent = low === null || high === null ? "–" : `${count(low)} to ${count(high)}`;
    byId("at-change").textContent = changeOf(before, after);
  }
}

/** @type {(seconds: number) => string} */
const timeOf = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);

/** @type {(before: number | null, after: number | null) => string} */
function changeOf(before, after) {
  if (before === null || after === null) return "–";
  const sign = after > before ? "+" : after < before ? "−" : "";
  return `${sign}${count(Math.abs(after - before))}${before > 0 ? ` (${offBy((100 * after) / before) || "0 %"})` : ""}`;
}

/** @type {(before: (number | null)[], after: (number | null)[]) => number} */
function farthest(before, after) {
  let [best, place] = [-1, 0];
  before.forEach((value, index) => {
    const other = after[index];
    if (value === null || other === null || Math.abs(other - value) <= best) return;
    [best, place] = [Math.abs(other - value), index];
  });
  return place;
}

/** @type {(courses: Courses) => Columns} */
function columns({ before, after, newer, interval, normal }) {
  const slots = Array.from({ length: Math.max(before.length, after.length) }, (_, slot) => slot);
  const spreads = slots.map((slot) => {
    const { expected = null, spread = null, scale = null } = newer[slot] ?? {};
    const width = normal === "robust" ? scale : spread;
    return expected === null || width === null ? [null, null] : [Math.max(0, expected - width), expected + width];
  });
  const expected = (/** @type {BaselineRow[]} */ rows) => slots.map((slot) => rows[slot]?.expected ?? null);
  return [slots.map((slot) => slot * interval), expected(before), expected(after), spreads.map(([low]) => low), spreads.map(([, high]) => high)];
}
