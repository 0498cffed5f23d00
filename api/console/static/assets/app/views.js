// Address -> view. What is not needed for the first view is loaded when it is opened.
import { html, useEffect, useState } from "./dom.js";
import { Empty, Failure, Loading } from "./parts.js";
import { address } from "./router.js";
import { useSession } from "./session.js";
import { Fleet } from "./fleet/fleet_view.js";

const LATER = {
  hosts: () => import("./host/host_view.js").then((module) => module.Host),
  servers: () => import("./servers/servers_view.js").then((module) => module.Servers),
  server: () => import("./servers/server_view.js").then((module) => module.Server),
  why: () => import("./why/why_view.js").then((module) => module.Why),
  "what-if": () => import("./what_if/what_if_view.js").then((module) => module.WhatIf),
  now: () => import("./now/now_view.js").then((module) => module.Now),
};
const FOR_OPERATORS = new Set(["fleet", "hosts", "now"]);
const loaded = { fleet: Fleet };

export function View({ parts, query }) {
  const { is_admin: isAdmin } = useSession();
  const [name = isAdmin ? "fleet" : "servers", id] = parts;
  const which = name === "login" ? (isAdmin ? "fleet" : "servers") : name === "servers" && id ? "server" : name;
  if (FOR_OPERATORS.has(which) && !isAdmin) {
    return html`<${Empty} title="This view is for administrators">
      <p>It shows all hosts. <a href=${address("/servers")}>See your servers</a> instead.</p><//>`;
  }
  if (which !== "fleet" && !LATER[which]) {
    return html`<${Empty} title="There is no such view"><p><a href=${address("/")}>Go to the start</a></p><//>`;
  }
  return html`<${Later} which=${which} id=${id} query=${query} key=${`${which}/${id ?? ""}`} />`;
}

function Later({ which, id, query }) {
  const [error, setError] = useState(null);
  const [, setCount] = useState(0);
  useEffect(() => {
    if (loaded[which]) return;
    LATER[which]().then((view) => {
      loaded[which] = view;
      setCount((count) => count + 1);
    }, () => setError({ status: 0, message: "A part of the console could not be loaded: reload the page." }));
  }, [which]);
  if (error) return html`<${Failure} error=${error} />`;
  const Found = loaded[which];
  return Found ? html`<${Found} id=${id} query=${query} />` : html`<${Loading} />`;
}
