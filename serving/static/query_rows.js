// The rows of a query's table: a column for each field of the values.

import { clockOf, make } from "./dom.js";
import { shownZone } from "./zone.js";

/** @import { QueryRow } from "../page.d.ts" */

/**
 * The fields of the values, in the order in which rows have them first.
 * @param {QueryRow[]} rows
 * @returns {string[]}
 */
const fieldsOf = (rows) => [...new Set(rows.flatMap(({ value }) => (isObject(value) ? Object.keys(value) : [])))];

/** @type {(value: unknown) => value is Record<string, unknown>} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Draws the rows. `seen`: the place of each key's record when the rows were drawn last; a row that is new or has changed since stands
 * out for a moment.
 * @param {HTMLTableElement} table
 * @param {QueryRow[]} rows
 * @param {Map<string, string> | null} seen null: nothing was drawn yet
 * @returns {Map<string, string>}
 */
export function draw(table, rows, seen) {
  const places = new Map(rows.map((row) => [row.key, `${row.partition}-${row.offset}`]));
  if (seen && seen.size === places.size && [...places].every(([key, place]) => seen.get(key) === place)) return seen;
  const zone = shownZone("UTC");
  const fields = fieldsOf(rows);
  const numbers = new Set(fields.filter((field) => rows.every(({ value }) => !isObject(value) || value[field] === null || typeof value[field] === "number")));
  const heads = [make("th", { scope: "col", text: "Key" }), ...fields.map((field) => make("th", { scope: "col", class: numbers.has(field) ? "number" : null, text: field })), make("th", { scope: "col", text: `Kafka took it at (${zone})` })];
  const drawn = rows.map((row) => {
    const fresh = seen !== null && seen.get(row.key) !== places.get(row.key);
    return make("tr", { class: fresh ? "new" : null }, make("th", { scope: "row", class: "key", text: row.key }), ...cells(row, fields, numbers), make("td", {}, make("time", { datetime: row.at, text: clockOf(zone).dated(row.at) })));
  });
  const [head, body] = [/** @type {HTMLElement} */ (table.tHead), table.tBodies[0]];
  head.replaceChildren(...(rows.length ? [make("tr", {}, ...heads)] : []));
  body.replaceChildren(...drawn);
  return places;
}

/** @param {HTMLTableElement} table */
export function clear(table) {
  for (const part of [/** @type {HTMLElement} */ (table.tHead), table.tBodies[0]]) part.replaceChildren();
}

/**
 * @param {QueryRow} row
 * @param {string[]} fields
 * @param {Set<string>} numbers
 */
function cells({ value, problem }, fields, numbers) {
  if (problem !== null || !isObject(value)) return [make("td", { colspan: Math.max(1, fields.length) }, problem === null ? JSON.stringify(value) : make("p", { class: "trouble", text: problem }))];
  return fields.map((field) => make("td", { class: numbers.has(field) ? "number" : null, text: text(value[field]) }));
}

/** @param {unknown} value */
function text(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}
