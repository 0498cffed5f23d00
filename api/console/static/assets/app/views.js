// Address -> view. What is not needed for the first view is loaded when it is opened.
import { html, useEffect, useState } from "./dom.js";
import { Empty, Failure, Loading, Title } from "./parts.js";
import { address } from "./router.js";
import { useViewAllowed } from "./session.js";
import { Fleet } from "./fleet/fleet_view.js";

const LATER = {
  hosts: () => import("./host/host_view.js").then((module) => module.Host),
  servers: () => import("./servers/servers_view.js").then((module) => module.Servers),
  server: () => import("./servers/server_view.js").then((module) => module.Server),
  why: () => import("./why/why_view.js").then((module) => module.Why),
  "what-if": () => import("./what_if/what_if_view.js").then((module) => module.WhatIf),
  now: () => import("./now/now_view.js").then((module) => module.Now),
};
const loaded = { fleet: Fleet };

export function View({ parts, query }) {
  const mayOpen = useViewAllowed();
  const start = mayOpen("fleet") ? "fleet" : "servers";
  const [name = start, id] = parts;
  const which = name === "login" ? start : name === "servers" && id ? "server" : name;
  if (!mayOpen(which)) {
    return html`<${Title} text=${which === "what-if" ? "New server" : "Administration"} />
      <${Empty} title=${which === "what-if" ? "You may not create servers" : "This view is for administrators"}>
        <p><a href=${address("/servers")}>See your servers</a> instead.</p><//>`;
  }
  if (which !== "fleet" && !LATER[which]) {
    return html`<${Title} text="Not found" /><${Empty} title="There is no such view"><p><a href=${address("/")}>Go to the start</a></p><//>`;
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
  if (error) return html`<${Title} text="Console" /><${Failure} error=${error} />`;
  const Found = loaded[which];
  return Found ? html`<${Found} id=${id} query=${query} />` : html`<${Loading} />`;
}
