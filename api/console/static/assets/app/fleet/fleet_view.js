// The fleet: all hosts as a heat map or a table, with search and filters; the address has what is shown.
import * as format from "../format.js";
import * as api from "../api.js";
import { html, useMemo, useRef } from "../dom.js";
import { Empty, Field, Loaded, Segments, Select, useLoaded } from "../parts.js";
import { go } from "../router.js";
import { useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { HeatMap } from "./heat_map.js";
import { HostTable } from "./host_table.js";
import { freeOf, FULL, grouped, groupings, loadHosts, matching, STATES, stateOf, usedUp, useOf } from "./hosts.js";
import { Legend, MEANINGS } from "./legend.js";

const REFRESH_MS = 4000; // a 304 most of the time: little more than a heartbeat
const ZONES = "os_compute_api:armillary:zones:list";
const FILTERS = ["q", "state", "trait", "without", "aggregate", "lack"];
const WHOLE = { at: null, zoom: null }; // other filters or groups put the hosts elsewhere on the map
const STATE_NAMES = [["", "Any state"], ["up", "Up"], [FULL, "Full"], ["draining", "Draining"], ["disabled", "Disabled"], ["down", "Down"]];

export function Fleet({ query }) {
  const known = useRef({ pages: [] });
  const loaded = useLoaded((signal) => loadHosts(known.current, signal), [], { every: REFRESH_MS });
  return html`<${Loaded} of=${loaded} title="Fleet">${(hosts) => html`<${Shown} hosts=${hosts} query=${query} />`}<//>`;
}

function Shown({ hosts, query }) {
  if (hosts.count) return html`<${Hosts} hosts=${hosts} query=${query} />`;
  return html`<${Head} title="Fleet" />
    <div class="card"><${NoHosts} /></div>`;
}

/** A deployment may have its hosts in the zones below it alone, whose own consoles show them. */
function NoHosts() {
  const isAsked = useAllowed()(ZONES);
  const loaded = useLoaded(async (signal) => (isAsked ? (await api.get("/armillary/zones", {}, signal)).zones : []), [isAsked]);
  const zones = loaded.data ?? [];
  if (!zones.length) return html`<${Empty} title="There are no hosts yet">A compute agent that starts shows up here.<//>`;
  return html`<${Empty} title="This zone has no hosts of its own">
    <p>${format.count(zones.length, "zone")} below it: ${zones.map((zone) => `${zone.name} with ${format.count(zone.hosts_up ?? 0, "host")} up`).join(", ")}. Their own consoles show them.</p><//>`;
}

function Hosts({ hosts, query }) {
  const resourceClass = hosts.classes.includes(query.class) ? query.class : hosts.classes[0];
  const by = query.by ?? "zone";
  const filter = FILTERS.map((name) => query[name] ?? "");
  const rows = useMemo(() => matching(hosts, query), [hosts, ...filter]);
  const groups = useMemo(() => grouped(hosts, rows, by), [rows, by]);
  const change = (more) => go("/fleet", { ...query, page: null, ...("class" in more ? {} : WHOLE), ...more }, { replace: true });
  const mayOpen = useViewAllowed()("hosts");
  const openHost = (row) => go(`/hosts/${encodeURIComponent(hosts.name[row])}`);
  const isTable = query.as === "table";
  return html`
    <${Head} title="Fleet" sub=${html`<${Summary} hosts=${hosts} rows=${rows} resourceClass=${resourceClass} change=${change} />`}>
      <${Segments} label="Show as" value=${isTable ? "table" : "map"} onChange=${(as) => change({ as: as === "table" ? as : null })} options=${[["map", "Map"], ["table", "Table"]]} />
    <//>
    <${Filters} hosts=${hosts} query=${query} by=${by} resourceClass=${resourceClass} change=${change} />
    ${!rows.length
      ? html`<div class="card"><${Empty} title="No host matches">
          <p>None of ${format.count(hosts.count, "host")} fits the filters. <button class="button quiet" onClick=${() => go("/fleet", { by: query.by, class: query.class })}>Clear the filters</button></p><//></div>`
      : isTable
        ? html`<${HostTable} hosts=${hosts} rows=${rows} resourceClass=${resourceClass} query=${query} change=${change} />`
        : html`<section class="fleet card flush" aria-label="Heat map of the hosts">
            <${HeatMap} hosts=${hosts} groups=${groups} resourceClass=${resourceClass} onOpen=${mayOpen ? openHost : null}
              part=${query.zoom ? { at: query.at, zoom: query.zoom } : null} onPart=${(part) => change({ at: part?.at, zoom: part?.zoom })}
              describe=${(row) => html`<${HostTip} hosts=${hosts} row=${row} resourceClass=${resourceClass} />`}
              label=${`${format.count(rows.length, "host")} by use of ${format.className(resourceClass)}`} />
            <${Legend} resourceClass=${resourceClass} />
          </section>`}`;
}

/** The counts of each state, which filter when they are pressed, and the use of the class that is shown. */
function Summary({ hosts, rows, resourceClass, change }) {
  const counts = useMemo(() => {
    const found = { up: 0, draining: 0, disabled: 0, down: 0, [FULL]: 0 }; // a full host is up, too
    let used = 0;
    let total = 0;
    for (const row of rows) {
      found[STATES[hosts.state[row]]] += 1;
      if (stateOf(hosts, row) === FULL) found[FULL] += 1;
      if ((hosts.capacity[resourceClass]?.[row] ?? 0) > 0) {
        used += hosts.used[resourceClass][row];
        total += hosts.capacity[resourceClass][row];
      }
    }
    return { ...found, used, total };
  }, [hosts, rows, resourceClass]);
  const named = STATES.filter((state) => counts[state]);
  const button = (state) => html`<button class="count" title=${`Show only hosts that are ${MEANINGS[state]}`} onClick=${() => change({ state })}>${format.whole(counts[state])} ${state}</button>`;
  return html`<span>${format.count(rows.length, "host")}${rows.length < hosts.count ? ` of ${format.whole(hosts.count)}` : ""}${named.length > 0 && ": "}${named.map((state, index) => html`${index > 0 && ", "}${button(state)}${state === "up" && counts[FULL] > 0 && html` (${button(FULL)})`}`)}.
    ${counts.total > 0 && ` ${format.className(resourceClass)}: ${format.amounts(resourceClass, counts.used, counts.total)} used (${format.percent(counts.used / counts.total)}).`}</span>`;
}

function Filters({ hosts, query, by, resourceClass, change }) {
  const aggregates = hosts.names.aggregates.map((each) => each.name).sort();
  return html`<form class="filters" role="search" aria-label="Filter hosts" onSubmit=${(event) => event.preventDefault()}>
    <${Field} label="Host" wide><input type="search" value=${query.q ?? ""} placeholder="part of a name, or rack7-*" onInput=${(event) => change({ q: event.target.value })} /><//>
    <${Field} label="State"><${Select} value=${query.state ?? ""} onChange=${(state) => change({ state })} options=${STATE_NAMES} /><//>
    ${aggregates.length > 0 && html`<${Field} label="Aggregate"><${Select} value=${query.aggregate ?? ""} onChange=${(aggregate) => change({ aggregate })} options=${[["", "Any"], ...aggregates.map((name) => [name, name])]} /><//>`}
    ${hosts.names.traits.length > 0 && html`<${Field} label="Trait" wide><input list="fleet-traits" value=${query.trait ?? ""} placeholder="CUSTOM_…" onChange=${(event) => change({ trait: event.target.value.trim() })} />
      <datalist id="fleet-traits">${[...hosts.names.traits].sort().map((name) => html`<option value=${name} />`)}</datalist><//>`}
    <${Field} label="Group by"><${Select} value=${by} onChange=${(value) => change({ by: value })} options=${groupings(hosts)} /><//>
    <${Field} label="Colour by use of"><${Select} value=${resourceClass} onChange=${(value) => change({ class: value })} options=${hosts.classes.map((name) => [name, format.className(name)])} /><//>
    ${query.lack && html`<span class="chip">free ${format.className(query.lack.split(":")[0])} below ${format.amount(...lackOf(query.lack))}<button type="button" aria-label="Remove this filter" onClick=${() => change({ lack: null })}>×</button></span>`}
    ${query.without && html`<span class="chip">without ${query.without}<button type="button" aria-label="Remove this filter" onClick=${() => change({ without: null })}>×</button></span>`}
  </form>`;
}

function lackOf(text) {
  const [name, asked] = text.split(":");
  return [name, Number(asked) || 0];
}

export function HostTip({ hosts, row, resourceClass }) {
  const classes = [resourceClass, ...hosts.classes.filter((name) => name !== resourceClass)].filter((name) => useOf(hosts, name, row) >= 0).slice(0, 4);
  return html`<b>${hosts.name[row]}</b><span>${stateOf(hosts, row)}${stateOf(hosts, row) === FULL ? `: no ${usedUp(hosts, row).map(format.className).join(", ")} left` : ""} · ${format.count(hosts.servers[row], "server")}</span>
    ${classes.map((name) => html`<span>${format.className(name)}: ${format.amounts(name, hosts.used[name][row], hosts.capacity[name][row])} (${format.amount(name, Math.max(0, freeOf(hosts, name, row)))} free)</span>`)}`;
}
