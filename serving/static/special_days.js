// What the public holidays and special days of a feed are taken for, the last one first, and why.

import { byId, make } from "./dom.js";

/** @import { SpecialDay } from "../page.d.ts" */

const LIKE = { sunday: "Compared with Sundays", weekday: "Compared with its weekday", itself: "Like no other day: compared with nothing" };
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "long", timeZone: "UTC" });

/** @param {SpecialDay[]} days */
export function specialDays(days) {
  const none = make("li", { class: "empty", text: "There is none in the past months or the next two weeks." });
  byId("days").replaceChildren(...(days.length ? days.map(row) : [none]));
}

/** @param {SpecialDay} day */
function row({ date, name, like, reason }) {
  const when = make("time", { datetime: date, text: `${weekday.format(new Date(date))}, ${date}` });
  return make(
    "li",
    {},
    make("div", { class: "line" }, make("strong", { text: name }), when),
    make("p", { class: "how", text: LIKE[like] }),
    make("p", { class: "quiet", text: reason }),
  );
}
