// Asks for what the first view needs while the modules are loaded: who is logged in, and then the hosts of the fleet.
// api.js takes the answers. Not a module: those run later.
(() => {
  const ask = (url, headers) => fetch(url, {
    headers: { Accept: "application/json", ...headers }, credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(30_000),
  });
  const session = ask("/ui/session");
  window.started = { "/ui/session": session };
  if (/^\/ui\/(fleet\/?)?$/.test(location.pathname)) {
    window.started["/v2.1/armillary/fleet?limit=20000"] = session.then((answer) => answer.clone().json()).then((found) => (
      found.session?.allowed["os_compute_api:armillary:fleet:list"]
        ? ask("/v2.1/armillary/fleet?limit=20000", { "OpenStack-API-Version": "compute 2.96", "X-Armillary-Fields": "1" })
        : undefined));
  }
  Object.values(window.started).forEach((answer) => answer.catch(() => {})); // who takes it sees the error
})();
