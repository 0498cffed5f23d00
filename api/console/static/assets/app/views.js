// Address -> view. What is not needed for the first view is loaded when it is opened.
import { html, useEffect, useErrorBoundary, useState } from "./dom.js";
import { Empty, Failure, Loading, Title } from "./parts.js";
import { address } from "./router.js";
import { useViewAllowed } from "./session.js";
import { Fleet } from "./fleet/fleet_view.js";

const LATER = {
  __proto__: null, // an address may have any word
  hosts: () => import("./host/host_view.js").then((module) => module.Host),
  servers: () => import("./servers/servers_view.js").then((module) => module.Servers),
  claims: () => import("./claims/claims_view.js").then((module) => module.Claims),
  pools: () => import("./claims/pools_view.js").then((module) => module.Pools),
  why: () => import("./why/why_view.js").then((module) => module.Why),
  "what-if": () => import("./what_if/what_if_view.js").then((module) => module.WhatIf),
  now: () => import("./now/now_view.js").then((module) => module.Now),
};
/** View of a list -> that of one of its members. */
const ONE = {
  __proto__: null,
  servers: () => import("./servers/server_view.js").then((module) => module.Server),
  claims: () => import("./claims/claim_view.js").then((module) => module.Claim),
};
const loaded = new Map(); // what loads a view -> the view

export function View({ parts, query }) {
  const mayOpen = useViewAllowed();
  const start = mayOpen("fleet") ? "fleet" : "servers";
  const [first = start, id] = parts;
  const name = first === "login" ? start : first;
  if (!mayOpen(name)) {
    return html`<${Title} text=${name === "what-if" ? "New server" : "Administration"} />
      <${Empty} title=${name === "what-if" ? "You may not create servers" : "This view is for administrators"}>
        <p><a href=${address("/servers")}>See your servers</a> instead.</p><//>`;
  }
  const load = (id && ONE[name]) || LATER[name];
  if (name !== "fleet" && !load) {
    return html`<${Title} text="Not found" /><${Empty} title="View not found"><p><a href=${address("/")}>Go to the start</a></p><//>`;
  }
  return html`<${Guarded} key=${`${name}/${id ?? ""}`}>${load ? html`<${Later} load=${load} id=${id} query=${query} />` : html`<${Fleet} query=${query} />`}<//>`;
}

/** A view that cannot be drawn says so; the bar stays. */
function Guarded({ children }) {
  const [error, reset] = useErrorBoundary((found) => setTimeout(() => { throw found; })); // into the browser's log
  if (!error) return children;
  return html`<${Title} text="Console" /><${Failure} error=${{ status: 0, title: "This view cannot be shown.", message: String(error.message) }} retry=${reset} />`;
}

function Later({ load, id, query }) {
  const [error, setError] = useState(null);
  const [, setCount] = useState(0);
  const fetchView = () => {
    if (loaded.has(load)) return;
    setError(null);
    load().then((view) => {
      loaded.set(load, view);
      setCount((count) => count + 1);
    }, () => setError({ status: 0, message: "A part of the console could not be loaded." }));
  };
  useEffect(fetchView, [load]);
  if (error) return html`<${Title} text="Console" /><${Failure} error=${error} retry=${fetchView} />`;
  const Found = loaded.get(load);
  return Found ? html`<${Found} id=${id} query=${query} />` : html`<${Loading} />`;
}
