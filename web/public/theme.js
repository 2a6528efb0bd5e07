// Runs before the first paint, so that a stored theme never flashes the other one.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("sf.theme");
  } catch {
    // Storage can be forbidden; the system's theme is then the answer.
  }
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
})();
