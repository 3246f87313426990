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
    location.replace(`/${location.search}`);
  } catch (error) {
    byId("problem").textContent = /** @type {Error} */ (error).message;
    byId("problem").hidden = false;
    inputById("token").select();
  } finally {
    button.disabled = false;
  }
});
button.disabled = false; // before, the form would be sent without this script
