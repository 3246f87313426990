// The chart of one service: value, what was expected, the band that the rule lets pass, anomalies, incidents. Drawn by uPlot.

import { axes, besideLabels, colours, upright } from "./chart_axes.js";
import { alone, columns } from "./chart_columns.js";
import { incidentAt, markPeaks, shade } from "./chart_incidents.js";
import { clockOf } from "./dom.js";
import { windowOf } from "./ranges.js";
import { readout } from "./readout.js";
import { TimeChart } from "./time_chart.js";
import { shownZone } from "./zone.js";

/** @import { IncidentInfo, Plot, Shown } from "../page.d.ts" */
/** @import { Earlier } from "./earlier.js" */
/** @import { ExcludedRanges } from "./excluded.js" */

export class Chart extends TimeChart {
  /**
   * @param {HTMLElement} element
   * @param {(from: number, to: number) => void} zoom called with epoch milliseconds, when a part is dragged over
   * @param {() => void} reset called at a double click
   * @param {(incident: IncidentInfo) => void} enter called when an incident is clicked
   */
  constructor(element, zoom, reset, enter) {
    super(element, zoom, reset);
    this.enter = enter;
    this.incidents = /** @type {IncidentInfo[]} */ ([]);
    this.series = /** @type {Shown | null} */ (null);
    this.earlier = /** @type {Earlier | null} */ (null);
    this.layer = /** @type {ExcludedRanges | null} */ (null); // which draws below everything else
    this.beside = /** @type {Shown[]} */ ([]); // of other services, in the same window
  }

  /**
   * Draws a series from scratch: other service, window or colours.
   * @param {Shown | null} series
   * @param {Earlier | null} [earlier] what it is compared with, if that is loaded
   * @param {Shown[]} [beside] of other services
   */
  show(series, earlier = null, beside = []) {
    this.series = series;
    this.earlier = earlier;
    this.beside = beside;
    if (series) this.replot(columns(series, earlier, beside), this.options(series));
    else {
      this.replot(null, {});
      this.layer?.place(null);
    }
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
    if ((plot.cursor.left ?? -1) >= 0) this.layer?.pointAt(plot, plot.cursor.left ?? -1);
    plot.over.style.cursor = pointed ? "pointer" : "";
  }

  /** @override */
  again() {
    this.show(this.series, this.earlier, this.beside);
  }

  /** @override */
  get loaded() {
    return this.series ? windowOf(this.series) : [0, 0];
  }

  /** @override */
  get interval() {
    return this.series?.interval_seconds ?? 0;
  }

  /** @param {Shown} series of which the time zone stays; the window is that of the newest data. */
  options(series) {
    const shown = () => this.series ?? series;
    const colour = colours();
    const zone = shownZone(series.timezone);
    const edge = { stroke: "transparent", points: { show: false } }; // of a band
    return {
      ...this.common,
      padding: [12, () => besideLabels(this.window), 0, 0],
      scales: {
        x: { range: () => this.window.map((at) => at / 1000) },
        y: { range: (/** @type {Plot} */ _plot, /** @type {number | null} */ low, /** @type {number | null} */ high) => upright(low, high) },
      },
      axes: axes(colour, zone),
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
        drawClear: [
          (/** @type {Plot} */ plot) => {
            this.layer?.shade(plot, colour);
            shade(plot, this.incidents, colour);
          },
        ],
        draw: [
          (/** @type {Plot} */ plot) => {
            markPeaks(plot, this.incidents, colour);
            mark(plot, shown(), colour("quiet"), clockOf(zone).time);
            this.layer?.place(plot);
            this.tell();
          },
        ],
      },
    };
  }
}

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
