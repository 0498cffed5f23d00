// Asks for what the first view needs while the modules are loaded: who is logged in, and the hosts of the fleet; those
// immediately where this browser has seen them before, else when it is known that the user may. api.js takes the answers.
// Not a module: those run later.
(() => {
  const ask = (url, headers) => fetch(url, {
    headers: { Accept: "application/json", ...headers }, credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(30_000),
  });
  const FLEET = "/v2.1/armillary/fleet?limit=20000&uuids=false"; // as in hosts.js
  const session = ask("/ui/session");
  window.started = { "/ui/session": session };
  const sawFleet = () => {
    try {
      return localStorage.getItem("armillary-fleet") === "seen";
    } catch {
      return false;
    }
  };
  const askFleet = () => ask(FLEET, { "OpenStack-API-Version": "compute 2.96", "X-Armillary-Fields": "1" });
  if (/^\/ui\/(fleet\/?)?$/.test(location.pathname)) {
    window.started[FLEET] = sawFleet() ? askFleet() : session.then((answer) => answer.clone().json()).then((found) => (
      found.session?.allowed["os_compute_api:armillary:fleet:list"] ? askFleet() : undefined));
  }
  Object.values(window.started).forEach((answer) => answer.catch(() => {})); // who takes it sees the error
})();
