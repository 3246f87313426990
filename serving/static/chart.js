// The chart of one service: value, what was expected, the band that the rule lets pass, anomalies, incidents. Drawn by uPlot.

/* global uPlot */
import { axes, besideLabels, colours, dark, sizeIn, upright } from "./chart_axes.js";
import { alone, columns } from "./chart_columns.js";
import { gestures } from "./chart_gestures.js";
import { incidentAt, markPeaks, shade } from "./chart_incidents.js";
import { clock } from "./dom.js";
import { windowOf } from "./ranges.js";
import { readout } from "./readout.js";

/** @import { IncidentInfo, Plot, Shown } from "../page.d.ts" */
/** @import { Earlier } from "./earlier.js" */

export class Chart {
  /**
   * @param {HTMLElement} element
   * @param {(from: number, to: number) => void} zoom called with epoch milliseconds, when a part is dragged over
   * @param {() => void} reset called at a double click
   * @param {(incident: IncidentInfo) => void} enter called when an incident is clicked
   */
  constructor(element, zoom, reset, enter) {
    this.element = element;
    this.zoom = zoom;
    this.reset = reset;
    this.enter = enter;
    this.incidents = /** @type {IncidentInfo[]} */ ([]);
    this.series = /** @type {Shown | null} */ (null);
    this.plot = /** @type {Plot | null} */ (null);
    this.earlier = /** @type {Earlier | null} */ (null);
    this.beside = /** @type {Shown[]} */ ([]); // of other services, in the same window
    dark.addEventListener("change", () => this.show(this.series, this.earlier, this.beside));
    this.view = /** @type {number[] | null} */ (null); // epoch milliseconds: what is under the hand, until it is loaded
    this.moving = false;
    gestures(this);
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(element);
  }

  /**
   * Draws a series from scratch: other service, window or colours.
   * @param {Shown | null} series
   * @param {Earlier | null} [earlier] what it is compared with, if that is loaded
   * @param {Shown[]} [beside] of other services
   */
  show(series, earlier = null, beside = []) {
    this.plot?.destroy();
    this.plot = null;
    if (!this.moving) this.view = null;
    this.series = series;
    this.earlier = earlier;
    this.beside = beside;
    if (series) this.plot = new uPlot(this.options(series), columns(series, earlier, beside), this.element);
  }

  /**
   * Draws newer data of the same series.
   * @param {Shown} series
   * @param {Shown[]} [beside] of the same services as before
   */
  update(series, beside = this.beside) {
    this.series = series;
    this.beside = beside;
    this.plot?.setData(columns(series, this.earlier, beside));
  }

  /** @param {Earlier | null} earlier what it is compared with */
  compare(earlier) {
    if (earlier === this.earlier) return;
    this.earlier = earlier;
    if (this.series) this.update(this.series);
  }

  /** @param {IncidentInfo[]} incidents of the service */
  mark(incidents) {
    this.incidents = incidents;
    this.plot?.redraw(false);
  }

  /** The incident at the pointer. */
  get pointed() {
    const left = this.plot?.cursor.left ?? -1;
    return this.plot && left >= 0 ? incidentAt(this.plot, this.incidents, left) : null;
  }

  /** Says what is at the pointer. */
  tell() {
    const { plot, series, pointed } = this;
    if (!plot || !series) return;
    readout(plot, series, pointed, this.earlier);
    plot.over.style.cursor = pointed ? "pointer" : "";
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

  /** Of a reading, seconds. */
  get interval() {
    return this.series?.interval_seconds ?? 0;
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

  /** @param {Shown} series of which the time zone stays; the window is that of the newest data. */
  options(series) {
    const shown = () => this.series ?? series;
    const colour = colours();
    const { time } = clock(series.timezone);
    const edge = { stroke: "transparent", points: { show: false } }; // of a band
    return {
      ...this.size(),
      tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1000), series.timezone),
      padding: [12, () => besideLabels(this.view ?? windowOf(shown())), 0, 0],
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: false, setScale: false, dist: 8 }, bind: { dblclick: () => () => this.reset(), mousedown: unlessShift } },
      scales: {
        x: { range: () => (this.view ?? windowOf(shown())).map((at) => at / 1000) },
        y: { range: (/** @type {Plot} */ _plot, /** @type {number | null} */ low, /** @type {number | null} */ high) => upright(low, high) },
      },
      axes: axes(colour),
      series: [
        {},
        { stroke: colour("value"), width: 2, points: { show: false, filter: alone, size: 4, fill: colour("value") } },
        edge,
        edge,
        { stroke: colour("expected"), width: 1.5, dash: [6, 4], points: { show: false } },
        { stroke: colour("anomaly"), paths: () => null, points: { show: true, size: 6, width: 0, fill: colour("anomaly"), stroke: colour("anomaly") } },
        edge,
        edge,
        { stroke: colour("earlier"), width: 1, points: { show: false, filter: alone, size: 3, fill: colour("earlier") } },
        ...this.beside.map((_, index) => colour(`beside-${index + 1}`)).map((stroke) => ({ stroke, width: 1.5, points: { show: false, filter: alone, size: 3, fill: stroke } })),
      ],
      bands: [{ series: [3, 2], fill: colour("band") }, { series: [7, 6], fill: colour("range") }],
      hooks: {
        ready: [(/** @type {Plot} */ plot) => plot.over.addEventListener("click", () => this.pointed && this.enter(this.pointed))],
        setSelect: [(/** @type {Plot} */ plot) => this.dragged(plot)],
        setCursor: [() => this.tell()],
        drawClear: [(/** @type {Plot} */ plot) => shade(plot, this.incidents, colour)],
        draw: [
          (/** @type {Plot} */ plot) => {
            markPeaks(plot, this.incidents, colour);
            mark(plot, shown(), colour("quiet"), time);
            this.tell();
          },
        ],
      },
    };
  }
}

/**
 * With Shift, dragging moves the chart and chooses no part of it.
 * @type {(plot: Plot, target: Element, handle: (event: MouseEvent) => void) => (event: MouseEvent) => void}
 */
const unlessShift = (_plot, _target, handle) => (event) => event.shiftKey || handle(event);

/**
 * A dotted line at now, or at the newest reading of a feed that lies in the past.
 * @param {Plot} plot
 * @param {Shown} series
 * @param {string} colour
 * @param {(at: string) => string} time
 */
function mark(plot, series, colour, time) {
  if (series.span) return;
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
  ctx.font = `${11 * scale}px system-ui`;
  const text = series.live && !series.stale ? "now" : time(instant);
  const fits = x + 5 * scale + ctx.measureText(text).width < ctx.canvas.width;
  ctx.textAlign = fits ? "left" : "right";
  ctx.fillText(text, x + (fits ? 5 : -5) * scale, bbox.top + 11 * scale);
  ctx.restore();
}
