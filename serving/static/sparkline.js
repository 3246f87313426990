// A service's newest readings in a few pixels: the line, the band that the rule lets pass, and the readings that broke it.

/** @import { SparkPoint } from "../page.d.ts" */

/** How many intervals it shows. */
export const INTERVALS = 60;
const PAD = 3; // pixels above and below

let colours = /** @type {Record<"value" | "band" | "anomaly", string> | null} */ (null);

/**
 * Calls `again` when all of them have to be drawn afresh, in other colours.
 * @param {() => void} again
 */
export function onOtherColours(again) {
  addEventListener("theme", () => {
    colours = null;
    again();
  });
}

function theColours() {
  if (!colours) {
    const style = getComputedStyle(document.documentElement);
    const [value, band, anomaly] = ["value", "band", "anomaly"].map((name) => style.getPropertyValue(`--${name}`).trim());
    colours = { value, band, anomaly };
  }
  return colours;
}

/**
 * Draws the points whose numbers are the last so many up to `end`.
 * @param {HTMLCanvasElement} canvas
 * @param {SparkPoint[]} points in the order of their numbers
 * @param {number} end
 */
export function sparkline(canvas, points, end) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.scale(devicePixelRatio, devicePixelRatio);
  const shown = points.filter((each) => each.number > end - INTERVALS && each.number <= end);
  if (!shown.length || !width) return;
  const levels = shown.flatMap(({ value, low, high }) => (low === null || high === null ? [value] : [value, low, high]));
  const [least, most] = [Math.min(...levels), Math.max(...levels)];
  const scale = most > least ? (height - 2 * PAD) / (most - least) : 0;
  const step = (width - 2 * PAD) / (INTERVALS - 1);
  /** @type {(point: SparkPoint) => number} */
  const x = (point) => PAD + (point.number - end + INTERVALS - 1) * step;
  /** @type {(level: number) => number} */
  const y = (level) => (scale ? height - PAD - (level - least) * scale : height / 2);
  const { value, band, anomaly } = theColours();
  ctx.fillStyle = band;
  for (const run of runs(shown.filter((each) => each.low !== null && each.high !== null))) {
    ctx.beginPath();
    for (const each of run) ctx.lineTo(x(each) - step / 2, y(/** @type {number} */ (each.high)));
    ctx.lineTo(x(run[run.length - 1]) + step / 2, y(/** @type {number} */ (run[run.length - 1].high)));
    ctx.lineTo(x(run[run.length - 1]) + step / 2, y(/** @type {number} */ (run[run.length - 1].low)));
    for (const each of run.toReversed()) ctx.lineTo(x(each) - step / 2, y(/** @type {number} */ (each.low)));
    ctx.fill();
  }
  ctx.strokeStyle = ctx.fillStyle = value;
  ctx.lineWidth = 1.5;
  ctx.lineJoin = "round";
  for (const run of runs(shown)) {
    ctx.beginPath();
    for (const each of run) ctx.lineTo(x(each), y(each.value));
    ctx.stroke();
    if (run.length === 1) dot(ctx, x(run[0]), y(run[0].value), 1.2);
  }
  ctx.fillStyle = anomaly;
  for (const each of shown) if (each.flagged) dot(ctx, x(each), y(each.value), 2);
}

/**
 * The points in pieces that have no gap.
 * @param {SparkPoint[]} points
 */
function runs(points) {
  /** @type {SparkPoint[][]} */
  const found = [];
  for (const each of points) {
    const run = found.at(-1);
    if (run && run[run.length - 1].number === each.number - 1) run.push(each);
    else found.push([each]);
  }
  return found;
}

/** @type {(ctx: CanvasRenderingContext2D, x: number, y: number, radius: number) => void} */
function dot(ctx, x, y, radius) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}
