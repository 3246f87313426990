// What the button "Display" of each page's header opens: the time zone and the theme of all pages.

import { byId, fill, selectById } from "./dom.js";
import { chooseZone, chosenZone, FEED, own } from "./zone.js";

const THEMES = [["", "as the system"], ["light", "light"], ["dark", "dark"]];

function show() {
  const zone = chosenZone();
  const zones = [[FEED, "the feed's"], ["UTC", "UTC"], ...(own === "UTC" ? [] : [[own, `mine (${own})`]])];
  fill("display-zone", zones.some(([value]) => value === zone) ? zones : [...zones, [zone, zone]], zone); // of an address, it may be another
  fill("display-theme", THEMES, THEMES.some(([value]) => value === display.chosen.theme) ? display.chosen.theme : "");
  byId("to-display").textContent = zone === FEED ? "Display" : `Display: ${zone}`;
}

selectById("display-zone").addEventListener("change", () => chooseZone(selectById("display-zone").value));
selectById("display-theme").addEventListener("change", () => display.choose("theme", selectById("display-theme").value));
addEventListener("display", show); // after zone.js, which was there before
show();
