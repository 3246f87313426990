// The page on which one logs in: it sends the token, and goes back to where one came from.

import { byId, inputById } from "./dom.js";
import { send } from "./loads.js";

const button = /** @type {HTMLButtonElement} */ (byId("login").querySelector("button"));

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  byId("problem").hidden = true;
  try {
    await send("POST", "/api/login", { token: inputById("token").value });
    location.replace(cameFrom());
  } catch (error) {
    byId("problem").textContent = /** @type {Error} */ (error).message;
    byId("problem").hidden = false;
    inputById("token").select();
  } finally {
    button.disabled = false;
  }
});

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
