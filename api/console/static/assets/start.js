// Asks who is logged in while the modules are loaded; api.js takes the answer. Not a module: those run later.
window.startedSession = fetch("/ui/session", {
  headers: { Accept: "application/json" }, credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(30_000),
});
window.startedSession.catch(() => {}); // who takes the answer sees the error
