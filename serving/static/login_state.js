// Who has logged in, at the end of a page's header. Pages ask here whether to offer what only operators may do.

import { make } from "./dom.js";
import { get, send } from "./loads.js";

/** @import { Me } from "../page.d.ts" */

/** @type {{ me: Me }} */
export const login = { me: { name: null, role: null } };

/** Asks who one is, and shows it. */
export async function showLogin() {
  const header = /** @type {HTMLElement} */ (document.querySelector("header"));
  login.me = await get("/api/me");
  const { name, role } = login.me;
  const place = header.querySelector(".login") ?? header.appendChild(make("p", { class: "login" }));
  if (name === null) {
    const link = make("a", { href: "/login", text: "Log in" });
    link.addEventListener("click", () => link.setAttribute("href", loginAddress())); // back to what is chosen by then
    place.replaceChildren(link);
    return;
  }
  const out = make("button", { type: "button", class: "link", text: "Log out" });
  out.addEventListener("click", async () => {
    await send("POST", "/api/logout");
    location.reload();
  });
  place.replaceChildren(make("span", { text: `${name} (${role})` }), " ", out);
}

/** Of the page that logs in and comes back here. */
function loginAddress() {
  const query = new URLSearchParams(location.search);
  if (location.pathname !== "/") query.set("page", location.pathname.slice(1));
  return query.size ? `/login?${query}` : "/login";
}
