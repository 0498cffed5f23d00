// One host: its state, the tree of its providers with inventories and use, NUMA cells and devices, servers, moves.
import * as api from "../api.js";
import * as format from "../format.js";
import { html, useState } from "../dom.js";
import { Ago, Badge, Confirm, Empty, Field, Inventory, Loaded, Note, Time, useLoaded } from "../parts.js";
import { byClass } from "../fleet/hosts.js";
import { HostLink } from "../host_link.js";
import { address } from "../router.js";
import { BY_HOST, useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { useToasts } from "../toasts.js";
import { HostEvents } from "./host_events.js";
import { NumaPicture } from "./numa_picture.js";

const REFRESH_MS = 3000;
const SERVERS_MAX = 1000; // of one answer
const AGGREGATES_SHOWN = 12; // the others are behind a click
const UPDATE = "os_compute_api:os-services:update";

export function Host({ id, query }) {
  const loaded = useLoaded((signal) => api.get(`/armillary/hosts/${encodeURIComponent(id)}`, {}, signal), [id], { every: REFRESH_MS });
  return html`<${Loaded} of=${loaded} title=${id}>${(host) => html`<${Shown} host=${host} query=${query} reload=${loaded.reload} />`}<//>`;
}

function Shown({ host, query, reload }) {
  const { service } = host;
  const isAllowed = useAllowed();
  const seesFleet = useViewAllowed()("fleet");
  const kinds = [...new Set(host.nodes.map((node) => node.hypervisor_type).filter(Boolean))];
  return html`
    <${Head} title=${host.name} crumb=${seesFleet && html`<a href=${address("/fleet")}>Fleet</a>`} badge=${html`<${Badge} state=${host.state} />`}
      sub=${html`Heartbeat <${Ago} at=${service.updated_at} /> · zone ${host.zone ?? "–"} · cell ${host.cell ?? "–"}${kinds.length > 0 && ` · ${kinds.join(", ")}`}<${Aggregates} names=${Object.values(host.aggregates)} />`}>
      ${isAllowed(BY_HOST) && html`<a class="button" href=${address("/servers", { host: host.name })}>Its servers</a>`}
      <${Enable} host=${host} reload=${reload} />
    <//>
    <div class="stack">
      ${service.status === "disabled" && html`<${Note} tone="warn">Disabled${service.disabled_reason ? `: ${service.disabled_reason}` : ""}. <span class="soft">It takes no new servers${host.servers.length > 0 && `; ${format.count(host.servers.length, "server is", "servers are")} still on it`}.</span><//>`}
      ${host.state === "down" && html`<${Note} tone="bad">${service.forced_down ? "Forced down by an operator." : "Its heartbeat is missing."} Its servers can be evacuated.<//>`}
      <div class="columns">
        <section class="card seven" aria-labelledby="providers-title"><h2 id="providers-title">Resources</h2>
          ${host.providers.length ? html`<${Tree} providers=${host.providers} parent=${null} />` : html`<${Empty} title="Placement knows no resources of this host yet" />`}</section>
        <section class="card five flush" aria-labelledby="servers-title"><h2 id="servers-title">${format.count(host.servers.length, "server")}${host.servers.length >= SERVERS_MAX && " or more"}</h2><${ServerList} servers=${host.servers} /></section>
        ${host.nodes.filter(hasPicture).map((node) => html`<section class="card" aria-label=${`NUMA cells and devices of ${node.name}`}><h2>NUMA cells and devices${node.name === host.name ? "" : ` of ${node.name}`}</h2><${NumaPicture} cells=${node.numa?.cells ?? []} pools=${node.devices} /></section>`)}
        ${host.migrations.length > 0 && html`<section class="card flush" aria-labelledby="moves-title"><h2 id="moves-title">Servers that moved here or away</h2><${Moves} host=${host} /></section>`}
        <${HostEvents} name=${host.name} query=${query} />
      </div>
    </div>`;
}

function Aggregates({ names }) {
  if (!names.length) return null;
  const links = [...names].sort().map((name, at) => html`${at > 0 && ", "}<${InFleet} filter=${{ aggregate: name }}>${name}<//>`);
  if (names.length > AGGREGATES_SHOWN) return html`<details><summary>${format.count(names.length, "aggregate")}</summary>${links}</details>`;
  return html` · ${names.length === 1 ? "aggregate" : "aggregates"} ${links}`;
}

/** A link to the hosts that have something in common, for those who see the fleet. */
function InFleet({ filter, class: look, children }) {
  return useViewAllowed()("fleet") ? html`<a class=${look} href=${address("/fleet", filter)}>${children}</a>` : html`<span class=${look}>${children}</span>`;
}

const hasPicture = (node) => node.numa?.cells?.length > 0 || node.devices.length > 0;

function Tree({ providers, parent }) {
  const children = providers.filter((each) => (each.parent_uuid ?? null) === parent);
  if (!children.length) return null;
  return html`<ul class="tree">${children.map((provider) => html`<li class="provider">
    <div class="row"><h3>${provider.name}</h3><code class="hint">${provider.uuid.slice(0, 8)}</code></div>
    <div class="meter">${Object.entries(provider.inventories).sort(([one], [other]) => byClass(one, other)).map(([name, inventory]) => html`<${Inventory} name=${name} inventory=${inventory} />`)}</div>
    ${provider.traits.length > 0 && html`<details><summary class="small">${format.count(provider.traits.length, "trait")}</summary><div class="tags">${[...provider.traits].sort().map((trait) => html`<${InFleet} class="tag" filter=${{ trait }}>${trait}<//>`)}</div></details>`}
    <${Tree} providers=${providers} parent=${provider.uuid} />
  </li>`)}</ul>`;
}

function ServerList({ servers }) {
  if (!servers.length) return html`<${Empty} title="No servers here" />`;
  return html`<div class="scroll tall" tabIndex="0" role="region" aria-label="Servers on this host"><table><thead><tr><th scope="col">Server</th><th scope="col">Status</th><th scope="col">Flavor</th></tr></thead>
    <tbody>${servers.map((server) => html`<tr><th scope="row" class="title"><a href=${address(`/servers/${server.id}`)} title=${server.name}>${server.name}</a></th><td><${Badge} state=${server.status} /></td><td>${server.flavor}</td></tr>`)}</tbody></table></div>`;
}

function Moves({ host }) {
  return html`<div class="scroll" tabIndex="0" role="region" aria-label="Moves"><table><thead><tr><th scope="col">When</th><th scope="col">Move</th><th scope="col">Server</th><th scope="col">Status</th></tr></thead>
    <tbody>${host.migrations.map((each) => {
      const hasLeft = each.source_host === host.name;
      const other = hasLeft ? each.dest_host : each.source_host;
      return html`<tr><td class="nowrap"><${Time} at=${each.created_at} /></td><td>${hasLeft ? "to" : "from"} <${HostLink} name=${other} none="?" /> <span class="hint">${each.type.replaceAll("_", " ")}</span></td>
        <td><a href=${address(`/servers/${each.server_id}`)}><code>${each.server_id.slice(0, 8)}</code></a></td><td><${Badge} state=${each.status} /></td></tr>`;
    })}</tbody></table></div>`;
}

/** Let the host take no new servers, or take them again. */
function Enable({ host, reload }) {
  const isAllowed = useAllowed();
  const say = useToasts();
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const isDisabled = host.service.status === "disabled";
  if (!isAllowed(UPDATE)) return null;
  const act = async () => {
    const body = isDisabled ? { status: "enabled" } : { status: "disabled", ...(reason ? { disabled_reason: reason } : {}) };
    await api.call("PUT", `/os-services/${host.service.id}`, { body });
    say(`${host.name} is ${isDisabled ? "enabled" : "disabled"}`, "good");
    reload();
  };
  return html`<button class="button" onClick=${() => setOpen(true)}>${isDisabled ? "Enable…" : "Disable…"}</button>
    ${isOpen && html`<${Confirm} title=${`${isDisabled ? "Enable" : "Disable"} ${host.name}?`} action=${isDisabled ? "Enable" : "Disable"} onClose=${() => setOpen(false)} onConfirm=${act}>
      ${isDisabled ? "The scheduler may select it again." : html`<div class="stack"><p>It takes no new servers; ${format.count(host.servers.length, "server stays", "servers stay")} on it.</p><${Field} label="Reason"><input value=${reason} maxLength="255" onInput=${(event) => setReason(event.target.value)} /><//></div>`}<//>`}`;
}
