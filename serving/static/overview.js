// The page of streams: loading them, asked for again while the page is seen, and what an operator may do.

import { byId, clockOf, count } from "./dom.js";
import { amiss, late, showState } from "./freshness.js";
import { failing, get, run } from "./loads.js";
import { showLogin } from "./login_state.js";
import { switchingApplications, switchingScoring } from "./operator.js";
import { OverviewRows, wrong } from "./overview_rows.js";
import { serverNow, takeTime } from "./server_time.js";
import { onZone, shownZone } from "./zone.js";

/** @import { Health, Overview, StreamOverview } from "../page.d.ts" */

const AGAIN_SECONDS = 5;
const rows = new OverviewRows(byId("streams"));
const known = { streams: /** @type {StreamOverview[] | null} */ (null), at: Number.NaN, health: /** @type {Health | null} */ (null) };

async function loadHealth() {
  const asked = performance.now();
  known.health = await get("/health");
  takeTime(/** @type {Health} */ (known.health).at, asked, performance.now());
}

async function load() {
  const [overview] = await Promise.all([get("/api/overview"), known.health ?? loadHealth()]);
  known.streams = /** @type {Overview} */ (overview).streams;
  known.at = serverNow();
  draw();
}

const reload = () => void run("streams", load);

function draw() {
  if (!known.streams) return;
  rows.show(known.streams, { score: switchingScoring(reload), queries: switchingApplications(reload) });
  const [all, amount] = [known.streams.length, known.streams.filter(wrong).length];
  const streams = `${count(all)} stream${all === 1 ? "" : "s"}`;
  const text = amount ? `${count(amount)} of ${streams} need${amount === 1 ? "s" : ""} attention` : `Nothing is wrong: ${streams}`;
  if (byId("headline").textContent !== text) byId("headline").textContent = text;
  byId("overview").className = amount ? "amiss" : "well";
  document.title = `${amount ? `(${amount}) ` : ""}Streams · Sundial`;
  byId("streams-loading").hidden = true;
  showFreshness();
}

function showFreshness() {
  const failures = [...failing.values()];
  showState(amiss(known.health, failures) ?? (known.streams ? ["live", "Live"] : ["waiting", "Loading"]), known.health, failures);
  byId("as-of").hidden = !known.streams || !late(known.at);
  if (known.streams) byId("as-of").textContent = `As of ${clockOf(shownZone("UTC")).full(known.at)} ${shownZone("UTC")}.`;
}

/** Loads at once what the page did not load while it was hidden or offline. */
function wake() {
  if (document.hidden) return;
  void run("health", loadHealth);
  reload();
}

document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
onZone(draw);
setInterval(wake, AGAIN_SECONDS * 1000);
setInterval(() => {
  showFreshness();
  rows.count(); // ages
}, 1000);
void run("login", showLogin).then(draw);
reload();
