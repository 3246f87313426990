// A chart along time, drawn by uPlot: it fits its place, has the colours of the page, and moves and zooms under the hand.

/* global uPlot */
import { sizeIn } from "./chart_axes.js";
import { gestures } from "./chart_gestures.js";

/** @import { Columns, Plot } from "../page.d.ts" */

export class TimeChart {
  /**
   * @param {HTMLElement} element
   * @param {(from: number, to: number) => void} zoom called with epoch milliseconds, when a part is dragged over
   * @param {() => void} reset called at a double click
   */
  constructor(element, zoom, reset) {
    this.element = element;
    this.zoom = zoom;
    this.reset = reset;
    this.plot = /** @type {Plot | null} */ (null);
    this.view = /** @type {number[] | null} */ (null); // epoch milliseconds: what is under the hand, until it is loaded
    this.moving = false;
    addEventListener("theme", () => this.again());
    gestures(this);
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(element);
  }

  /** Draws from scratch what is drawn. */
  again() {}

  /** From when to when it is loaded, epoch milliseconds. @returns {number[]} */
  get loaded() {
    return [0, 0];
  }

  /** Of a reading, seconds. */
  get interval() {
    return 0;
  }

  /** From when to when it is drawn, epoch milliseconds. */
  get window() {
    return this.view ?? this.loaded;
  }

  /**
   * Makes another plot; without data, there is none.
   * @param {Columns | null} data
   * @param {object} options those of `common` and others
   */
  replot(data, options) {
    this.plot?.destroy();
    this.plot = null;
    if (!this.moving) this.view = null;
    if (data) this.plot = new uPlot(options, data, this.element);
  }

  /** @param {number[]} window shows that part of time with what is loaded, epoch milliseconds */
  look(window) {
    this.moving = true;
    this.view = window;
    this.plot?.redraw(true);
  }

  /** Has loaded what is under the hand. */
  settle() {
    if (!this.moving || !this.view) return;
    this.moving = false;
    this.zoom(this.view[0], this.view[1]);
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
    return sizeIn(this.element);
  }

  /** What all have of uPlot's options. */
  get common() {
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: false, setScale: false, dist: 8 }, bind: { dblclick: () => () => this.reset(), mousedown: unlessShift } },
    };
  }
}

/**
 * With Shift, dragging moves the chart and chooses no part of it.
 * @type {(plot: Plot, target: Element, handle: (event: MouseEvent) => void) => (event: MouseEvent) => void}
 */
const unlessShift = (_plot, _target, handle) => (event) => event.shiftKey || handle(event);
