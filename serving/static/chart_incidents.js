// Incidents in the chart of a service: shaded from start to end, an open one to the right edge, each with its peak marked. Excluded
// ranges are hatched.

import { count } from "./dom.js";

/** @import { IncidentInfo, Plot } from "../page.d.ts" */
/** @typedef {(name: string) => string} Colour Of the page's style, by name. */

const LEAST = 4; // pixels: a short incident can still be seen in five weeks, and met with the pointer
const RIM = 3; // pixels, along the top
const RING = 4.5;
const APART = 8; // pixels, from line to line of what is hatched

/**
 * From where to where an incident or a range is shaded, in the page's pixels from the left of the plot; null: it is out of the window.
 * @param {Plot} plot
 * @param {{ start: string, end: string | null }} incident
 */
export function extent(plot, { start, end }) {
  const width = plot.bbox.width / devicePixelRatio;
  const from = plot.valToPos(Date.parse(start) / 1000, "x", false);
  const to = end === null ? width : Math.max(plot.valToPos(Date.parse(end) / 1000, "x", false), from + LEAST);
  return to < 0 || from > width ? null : { left: Math.max(0, from), right: Math.min(width, to) };
}

/** @type {(incident: IncidentInfo) => boolean} Whether a person says that it is a false alarm. */
const denied = ({ verdict }) => verdict?.kind === "false";

/**
 * Shades them, below everything else.
 * @param {Plot} plot
 * @param {IncidentInfo[]} incidents
 * @param {Colour} colour
 */
export function shade(plot, incidents, colour) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  for (const each of incidents) {
    const found = extent(plot, each);
    if (!found) continue;
    const [left, width] = [bbox.left + found.left * scale, (found.right - found.left) * scale];
    ctx.fillStyle = colour(denied(each) ? "denied" : "incident");
    ctx.fillRect(left, bbox.top, width, bbox.height);
    ctx.fillStyle = colour(denied(each) ? "quiet" : "anomaly");
    ctx.fillRect(left, bbox.top, width, RIM * scale);
  }
  ctx.restore();
}

/**
 * Hatches a range, below everything else.
 * @param {Plot} plot
 * @param {{ start: string, end: string }} range
 * @param {string} colour
 */
export function hatch(plot, range, colour) {
  const found = extent(plot, range);
  if (!found) return;
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  const [left, right] = [bbox.left + found.left * scale, bbox.left + found.right * scale];
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2 * scale;
  ctx.beginPath();
  for (let x = left - bbox.height; x < right; x += APART * scale) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
}

/**
 * Marks their peaks with a ring and the value, above everything else.
 * @param {Plot} plot
 * @param {IncidentInfo[]} incidents
 * @param {Colour} colour
 */
export function markPeaks(plot, incidents, colour) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  const [right, bottom] = [bbox.left + bbox.width, bbox.top + bbox.height];
  ctx.save();
  ctx.font = `600 ${11 * scale}px system-ui`;
  ctx.lineWidth = 1.5 * scale;
  for (const each of incidents) {
    if (each.peak_at === null || each.peak === null) continue;
    const [x, y] = [plot.valToPos(Date.parse(each.peak_at) / 1000, "x", true), plot.valToPos(each.peak, "y", true)];
    if (x < bbox.left || x > right || y < bbox.top || y > bottom) continue;
    ctx.strokeStyle = ctx.fillStyle = colour(denied(each) ? "quiet" : "anomaly");
    ctx.beginPath();
    ctx.arc(x, y, RING * scale, 0, 2 * Math.PI);
    ctx.stroke();
    const text = count(each.peak);
    const fits = x + (RING + 5) * scale + ctx.measureText(text).width < right;
    ctx.textAlign = fits ? "left" : "right";
    ctx.textBaseline = "middle";
    const [dx, dy] = [(fits ? 1 : -1) * (RING + 5) * scale, y - bbox.top < 20 * scale ? 8 * scale : 0];
    ctx.lineJoin = "round";
    ctx.save();
    ctx.strokeStyle = colour("card");
    ctx.lineWidth = 3 * scale;
    ctx.strokeText(text, x + dx, y + dy);
    ctx.restore();
    ctx.fillText(text, x + dx, y + dy);
  }
  ctx.restore();
}

/**
 * The incident at a place of the plot: of several, the one that began last.
 * @param {Plot} plot
 * @param {IncidentInfo[]} incidents
 * @param {number} left in pixels
 */
export function incidentAt(plot, incidents, left) {
  const there = incidents.filter((each) => {
    const found = extent(plot, each);
    return found !== null && found.left <= left && left <= found.right;
  });
  return there.sort((a, b) => Date.parse(b.start) - Date.parse(a.start))[0] ?? null;
}
