// Other services of the feed in the chart of one: a line each, in the same window.

import { byId, count, make, selectById } from "./dom.js";

/** @import { Series, Shown } from "../page.d.ts" */

export const MOST = 4; // as many as style.css has colours for

/**
 * The services that may stand beside one: those that the feed has, each once, and not itself.
 * @param {string[]} wanted
 * @param {string | null} service
 * @param {string[]} services
 */
export const besides = (wanted, service, services) => [...new Set(wanted)].filter((each) => each !== service && services.includes(each)).slice(0, MOST);

/**
 * For each bucket of what is shown, the mean of another series at that time.
 * @param {Series} shown
 * @param {Series} other
 */
export function meansBeside({ start, bucket_seconds: length, buckets }, other) {
  const ahead = Math.round((Date.parse(start) - Date.parse(other.start)) / (1000 * length));
  return buckets.count.map((_, index) => other.buckets.mean[index + ahead] ?? null);
}

/**
 * The lines in the key, and below it what can be added and taken out. (The key is hidden from screen readers: it follows the pointer.)
 * @param {Shown[]} beside
 * @param {Shown} shown
 * @param {string[]} services
 * @param {(services: string[]) => void} take
 */
export function offerBeside(beside, shown, services, take) {
  const names = beside.map(({ service }) => service);
  byId("besides").hidden = services.length < 2;
  const wanted = JSON.stringify([shown.service, names, services]);
  if (byId("besides").dataset.offered === wanted) return; // so that a button keeps the focus
  byId("besides").dataset.offered = wanted;
  for (const line of document.querySelectorAll("#key .beside")) line.remove();
  byId("key-lines").append(...names.map((name, index) => make("li", { class: `beside beside-${index + 1}` }, `${name} `, make("strong"))));
  const select = selectById("beside");
  const others = services.filter((each) => each !== shown.service && !names.includes(each));
  select.replaceChildren(make("option", { value: "", text: "add a service…" }), ...others.map((each) => make("option", { value: each, text: each })));
  select.disabled = !others.length || names.length >= MOST;
  select.onchange = () => take([...names, select.value]);
  for (const button of document.querySelectorAll("#besides button")) button.remove();
  byId("besides").append(...names.map((name) => takeOut(name, () => take(names.filter((each) => each !== name)))));
}

/** @type {(name: string, leave: () => void) => HTMLElement} */
function takeOut(name, leave) {
  const button = make("button", { type: "button", class: "link name", text: `${name} ×`, title: "Take it out of the chart", "aria-label": `Take ${name} out of the chart` });
  button.addEventListener("click", leave);
  return button;
}

/** Their values at one place. @param {(number | null)[]} values */
export function tellBeside(values) {
  for (const [index, element] of document.querySelectorAll("#key .beside strong").entries()) element.textContent = count(values[index]);
}
