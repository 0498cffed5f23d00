// Sets the theme before anything is drawn: the viewer's choice, or the preference of the system.
// Not a module: those run after the first paint, which would flash in the other theme.
(() => {
  const KEY = "armillary-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (dark.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  dark.addEventListener("change", apply);
  window.toggleTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // storage may be forbidden: the choice then holds until the page is left
    }
    document.documentElement.dataset.theme = next;
    dispatchEvent(new Event("themechange"));
  };
  apply();
})();
