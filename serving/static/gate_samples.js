// The first rows at fault of a failed expectation, as a small table: the service, the day type, and the figure that was judged.

import { DAYS, make } from "./dom.js";

/** @import { Expectation } from "../page.d.ts" */
/** @typedef {{ service: string, day: number }} Place a service and a day type */
/** @typedef {(place: Place) => void} ChoosePlace shows what is expected there */

const figure = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const ENTITIES = /** @type {Record<string, string>} */ ({ "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" });

/** The gate keeps names as Data Docs can show them: with entities. @param {string} name */
const plain = (name) => name.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]);

/** @type {(row: unknown) => row is Record<string, unknown>} */
const isRow = (row) => typeof row === "object" && row !== null && !Array.isArray(row);

/** @param {unknown} value */
const written = (value) => (typeof value === "number" ? figure.format(value) : value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value));

/**
 * Nothing, of an expectation that has no rows.
 * @param {Expectation} expectation
 * @param {ChoosePlace} choose
 */
export function samples({ sample }, choose) {
  if (!sample.length) return [];
  const rows = sample.map((each) => (isRow(each) ? each : { "": each }));
  const figures = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== "ServiceName" && name !== "DayType");
  const titles = ["Service", "Day type"].map((text) => make("th", { scope: "col", text })).concat(figures.map((text) => make("th", { scope: "col", class: "number", text })));
  const table = make(
    "table",
    { class: "samples" },
    make("caption", { class: "quiet", text: rows.length === 1 ? "A row at fault" : "The first rows at fault" }),
    make("thead", {}, make("tr", {}, ...titles)),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...place(row, choose), ...figures.map((name) => make("td", { class: "number", text: name in row ? written(row[name]) : "" }))))),
  );
  return [table];
}

/** Service and day type of a row. @type {(row: Record<string, unknown>, choose: ChoosePlace) => HTMLElement[]} */
function place({ ServiceName: name, DayType: day }, choose) {
  const service = typeof name === "string" ? plain(name) : "";
  const known = typeof day === "number" && DAYS[day] !== undefined && day > 0;
  const dayCell = make("td", { text: known ? DAYS[day] : written(day ?? "") });
  if (!service || !known) return [make("td", { class: "name", text: service }), dayCell];
  const button = make("button", { type: "button", class: "link", text: service, title: "Show what is expected of it" });
  button.addEventListener("click", () => choose({ service, day }));
  return [make("td", { class: "name" }, button), dayCell];
}
