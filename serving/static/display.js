// How a person wants all pages to look: the theme, and the time zone of what they write. This browser keeps it. The file is no module:
// it runs before the page is drawn, so that no page begins in another theme.

{
  const NAMES = /** @type {const} */ (["theme", "zone"]);
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = { theme: "", zone: "" }; // if the browser blocks its storage, this page alone has the choice

  /** @type {(name: "theme" | "zone") => string} */
  const keyOf = (name) => `sundial.${name}`;

  const read = () => {
    try {
      for (const name of NAMES) chosen[name] = localStorage.getItem(keyOf(name)) ?? "";
    } catch { /* blocked */ }
  };

  const applyTheme = () => {
    const theme = ["light", "dark"].includes(chosen.theme) ? chosen.theme : system.matches ? "dark" : "light";
    const root = document.documentElement;
    if (root.dataset.theme === theme) return;
    root.dataset.theme = theme;
    document.querySelector("meta[name=color-scheme]")?.setAttribute("content", theme); // of the page before its style is there
    dispatchEvent(new Event("theme"));
  };

  const readAgain = () => {
    read();
    applyTheme();
    dispatchEvent(new Event("display"));
  };

  globalThis.display = {
    chosen,
    choose(name, value) {
      chosen[name] = value;
      try {
        localStorage.setItem(keyOf(name), value);
      } catch { /* blocked */ }
      applyTheme();
      dispatchEvent(new Event("display"));
    },
  };
  read();
  applyTheme();
  system.addEventListener("change", applyTheme);
  addEventListener("storage", readAgain); // another page has changed it
  addEventListener("pageshow", ({ persisted }) => persisted && readAgain());
}
