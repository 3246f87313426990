// The time zone in which pages write times: that of each feed, or one that a person chose. The page's address has it if it was chosen,
// and goes before what this browser keeps.

/** What stands for the zone of each feed. */
export const FEED = "feed";
const OWN = "own"; // is kept instead of a name: the browser may be elsewhere tomorrow
const NAME = /^[A-Za-z][\w+\-/]{0,63}$/;

/** The zone's name; null if the browser does not know it. @param {string} text */
function known(text) {
  if (!NAME.test(text)) return null;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** The zone of the browser. */
export const own = known(Intl.DateTimeFormat().resolvedOptions().timeZone) ?? "UTC";

/** @type {(text: string | null) => string | null} */
const read = (text) => (text === FEED ? FEED : text === OWN ? own : text ? known(text) : null);

let chosen = read(new URLSearchParams(location.search).get("zone")) ?? read(display.chosen.zone);

/** FEED or the name of a zone. */
export const chosenZone = () => chosen ?? FEED;

/** The zone in which times are written that belong to another. @param {string} timeZone that of a feed, or of several */
export const shownZone = (timeZone) => (chosen === null || chosen === FEED ? timeZone : chosen);

/** @param {string} zone FEED or a name */
export function chooseZone(zone) {
  kept = null; // it counts even if it is kept already: the address may have another
  display.choose("zone", zone === own && own !== "UTC" ? OWN : zone);
}

/** Calls `again` when times have to be written in another zone. @param {() => void} again */
export const onZone = (again) => addEventListener("zone", again);

/**
 * Puts what is chosen into the page's address, and the zone if one was chosen.
 * @param {URLSearchParams} query
 * @param {"pushState" | "replaceState"} [how]
 */
export function putAddress(query, how = "replaceState") {
  if (chosen === null) query.delete("zone");
  else query.set("zone", chosen);
  const search = query.size ? `?${query}` : "";
  if (location.search !== search) history[how](null, "", location.pathname + search);
}

function keepAddress() {
  const query = new URLSearchParams(location.search);
  if (query.get("zone") !== chosen) putAddress(query);
}

let kept = /** @type {string | null} */ (display.chosen.zone);
addEventListener("display", () => {
  if (display.chosen.zone === kept) return;
  kept = display.chosen.zone;
  chosen = read(kept);
  keepAddress();
  dispatchEvent(new Event("zone"));
});
addEventListener("popstate", keepAddress); // what was chosen since holds there, too
keepAddress();
