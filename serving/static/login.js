// The page on which one logs in: it sends the token, and goes back to where one came from.

import { byId, inputById } from "./dom.js";
import { get, send } from "./loads.js";

const LONGEST_QUERY = 2000; // of a page, that comes back from the provider

/** @import { ProviderInfo } from "../page.d.ts" */

const button = /** @type {HTMLButtonElement} */ (byId("login").querySelector("button"));

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  byId("problem").hidden = true;
  try {
    await send("POST", "/api/login", { token: inputById("token").value });
    location.replace(cameFrom());
  } catch (error) {
    showProblem(error);
    inputById("token").select();
  } finally {
    button.disabled = false;
  }
});

/** Offers the provider, if there is one. */
async function offerProvider() {
  const { name } = /** @type {ProviderInfo} */ (await get("/api/login/provider"));
  if (name === null) return;
  const other = /** @type {HTMLButtonElement} */ (byId("provider").querySelector("button"));
  other.textContent = `Log in with ${name}`;
  other.addEventListener("click", () => goToProvider(other));
  byId("provider").hidden = false;
}

/** Goes to the provider, which sends the browser back. @param {HTMLButtonElement} other */
async function goToProvider(other) {
  other.disabled = true;
  byId("problem").hidden = true;
  const query = location.search.slice(1);
  try {
    const { url } = await send("POST", "/api/login/provider", { back: query.length <= LONGEST_QUERY ? query : "" });
    location.assign(url);
  } catch (error) {
    showProblem(error);
  } finally {
    other.disabled = false;
  }
}

/** @param {unknown} error */
function showProblem(error) {
  byId("problem").textContent = /** @type {Error} */ (error).message;
  byId("problem").hidden = false;
}

/** The page that the address names, if the header links to it, with what was chosen on it. */
function cameFrom() {
  const query = new URLSearchParams(location.search);
  const [page = "/"] = pages().filter((each) => each === `/${query.get("page")}`);
  query.delete("page");
  return query.size ? `${page}?${query}` : page;
}

/** Paths that the header links to. */
const pages = () => [...document.querySelectorAll("header nav a")].map((each) => each.getAttribute("href") ?? "");

button.disabled = false; // before, the form would be sent without this script
offerProvider().catch(showProblem);
