// What a chart of one's own shows, as a file: its values as CSV, and its picture as PNG.

import { colours } from "./chart_axes.js";
import { make } from "./dom.js";
import { COLOURS, DASH } from "./explore_chart.js";
import { columnsOf, nameOf } from "./explore_lines.js";
import { wallClock } from "./wall_clock.js";

/** @import { ChartLine, Columns } from "../page.d.ts" */

const [MARGIN, ROW, SWATCH] = [16, 22, 26]; // pixels

/**
 * A header, and a row for each instant at which a line has a value. A band has two columns.
 * @param {ChartLine[]} lines
 * @param {Columns[]} tables
 * @param {string} zone in which instants are written
 */
export function csvOf(lines, tables, zone) {
  const { iso: written } = wallClock(zone);
  const heads = lines.flatMap((line) => {
    const names = columnsOf(line);
    return names.length < 2 ? [nameOf(line)] : names.map((name) => `${nameOf(line)}: ${name}`);
  });
  const rows = /** @type {Map<number, (number | null)[]>} */ (new Map());
  let place = 0;
  for (const [seconds, ...columns] of tables) {
    seconds.forEach((at, index) => {
      if (at === null || columns.every((column) => column[index] === null)) return;
      const row = rows.get(at) ?? heads.map(() => null);
      columns.forEach((column, number) => (row[place + number] = column[index]));
      rows.set(at, row);
    });
    place += columns.length;
  }
  const cells = [...rows].sort(([a], [b]) => a - b).map(([at, row]) => [written(1000 * at), ...row.map((each) => each ?? "")].join());
  return `${[["at", ...heads].map(quoted).join(), ...cells].join("\n")}\n`;
}

/** @param {string} text */
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

/**
 * The chart's canvas below a title, above the names of its lines.
 * @param {HTMLCanvasElement} canvas
 * @param {string} title
 * @param {ChartLine[]} lines
 * @returns {Promise<Blob | null>}
 */
export function pngOf(canvas, title, lines) {
  const colour = colours();
  const scale = devicePixelRatio;
  const [width, height] = [canvas.width / scale, canvas.height / scale];
  const picture = /** @type {HTMLCanvasElement} */ (make("canvas", { width: canvas.width + 2 * MARGIN * scale, height: canvas.height + (3 * MARGIN + ROW * (lines.length + 1)) * scale }));
  const pen = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  pen.scale(scale, scale);
  pen.fillStyle = colour("card");
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.textBaseline = "middle";
  pen.font = "600 14px system-ui";
  pen.fillStyle = colour("text");
  pen.fillText(title, MARGIN, MARGIN + ROW / 2, width);
  pen.drawImage(canvas, MARGIN, MARGIN + ROW, width, height);
  pen.font = "12px system-ui";
  lines.forEach((line, place) => {
    const y = 2 * MARGIN + ROW * (place + 1.5) + height;
    pen.strokeStyle = colour(COLOURS[place]);
    pen.lineWidth = columnsOf(line).length > 1 ? 8 : 2;
    pen.setLineDash(line.right ? DASH : []);
    pen.beginPath();
    pen.moveTo(MARGIN, y);
    pen.lineTo(MARGIN + SWATCH - 8, y);
    pen.stroke();
    pen.fillText(shortened(pen, `${nameOf(line)}${line.right ? " (right axis)" : ""}`, width - SWATCH), MARGIN + SWATCH, y);
  });
  return new Promise((done) => picture.toBlob(done));
}

/** @type {(pen: CanvasRenderingContext2D, text: string, width: number) => string} */
function shortened(pen, text, width) {
  let shown = text.slice(0, 500);
  while (shown && pen.measureText(shown === text ? text : `${shown}…`).width > width) shown = shown.slice(0, -1);
  return shown === text ? text : `${shown}…`;
}

/**
 * Saves it as a file.
 * @param {Blob} content
 * @param {string} name
 */
export function save(content, name) {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
