// The page's elements, and how numbers and instants are written. Text is only ever set as text, so a service's name can be anything.

/** @type {(id: string) => HTMLElement} Of index.html, which has them all. */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {(id: string) => HTMLSelectElement} */
export const selectById = (id) => /** @type {HTMLSelectElement} */ (byId(id));

/** @type {(id: string) => HTMLInputElement} */
export const inputById = (id) => /** @type {HTMLInputElement} */ (byId(id));

/**
 * An element: attributes by name ("text" sets its text), then children.
 * @param {string} tag
 * @param {Record<string, unknown>} attributes
 * @param {...(Node | string)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = String(value);
    else if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * Shows a message in place of content that is missing, with the command to run set apart.
 * @param {HTMLElement} element
 * @param {string | null} message
 * @param {string | null} [command]
 */
export function empty(element, message, command) {
  element.hidden = !message;
  element.replaceChildren(message ?? "", ...(command ? [" ", make("code", { text: command })] : []));
}

/**
 * A paragraph that stands where a panel has no content yet.
 * @param {string} message
 * @param {string} [command]
 */
export function nothing(message, command) {
  const paragraph = make("p", { class: "empty" });
  empty(paragraph, message, command);
  return paragraph;
}

/**
 * Offers these values with their names. The options are made again only if others are offered: a list that is unfolded stays.
 * @param {string} id of a select
 * @param {string[][]} offered
 * @param {string} chosen
 */
export function fill(id, offered, chosen) {
  const select = selectById(id);
  const text = JSON.stringify(offered);
  if (select.dataset.text !== text) select.replaceChildren(...offered.map(([value, name]) => make("option", { value, text: name })));
  select.dataset.text = text;
  if (select.value !== chosen) select.value = chosen;
}

/**
 * Makes these the children of an element, in this order. One that stays in its place keeps the focus.
 * @param {HTMLElement} parent
 * @param {HTMLElement[]} wanted
 */
export function arrange(parent, wanted) {
  const stay = new Set(/** @type {Element[]} */ (wanted));
  for (const each of [...parent.children]) if (!stay.has(each)) each.remove();
  wanted.forEach((each, place) => parent.children[place] !== each && parent.insertBefore(each, parent.children[place] ?? null));
}

/** The day types by their numbers, which begin with 1. */
export const DAYS = ["", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** @type {(value: number | null | undefined) => string} */
export const count = (value) => (value === null || value === undefined ? "–" : number.format(value));

/**
 * How far 100 * value / expected is from 100, signed.
 * @param {number | null | undefined} pct
 */
export function offBy(pct) {
  if (pct === null || pct === undefined) return "–";
  const off = pct - 100;
  return `${off > 0 ? "+" : off < 0 ? "−" : ""}${number.format(Math.abs(off))} %`;
}

/**
 * Functions that write an instant in a time zone: the time alone, date with time, and the date alone, with or without the day of the week.
 * @param {string} timeZone
 */
function clock(timeZone) {
  /** @type {Intl.DateTimeFormatOptions} */
  const base = { timeZone, hourCycle: "h23", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const time = new Intl.DateTimeFormat("en-GB", base);
  const full = new Intl.DateTimeFormat("en-GB", { ...base, weekday: "short", day: "2-digit", month: "short" });
  const year = new Intl.DateTimeFormat("en-GB", { ...base, year: "numeric", day: "2-digit", month: "short" });
  const day = new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short", day: "2-digit", month: "short" });
  const date = new Intl.DateTimeFormat("en-GB", { timeZone, day: "2-digit", month: "short" });
  /** @type {(format: Intl.DateTimeFormat) => (at: string | number) => string} */
  const written = (format) => (at) => format.format(new Date(at));
  return { time: written(time), full: written(full), dated: written(year), day: written(day), date: written(date) };
}

const clocks = /** @type {Map<string, ReturnType<typeof clock>>} */ (new Map()); // making one costs more than using it

/** The same clock for each call. @param {string} timeZone */
export function clockOf(timeZone) {
  const known = clocks.get(timeZone) ?? clock(timeZone);
  clocks.set(timeZone, known);
  return known;
}

/** Time and date in a time zone, and the time in UTC beside it. @param {number} at @param {string} timeZone */
export function withUtc(at, timeZone) {
  const text = clockOf(timeZone).full(at);
  return timeZone === "UTC" ? `${text} UTC` : `${text} · ${clockOf("UTC").time(at)} UTC`;
}

/** @param {number} seconds */
export function age(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}
