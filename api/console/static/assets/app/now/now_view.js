// Now: live events, figures with their last minutes, services with their heartbeats, zones.
import * as api from "../api.js";
import * as format from "../format.js";
import { html } from "../dom.js";
import { Ago, Badge, Loaded, Note, useLoaded } from "../parts.js";
import { HostLink } from "../host_link.js";
import { address, go } from "../router.js";
import { useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { EventStrip } from "./event_strip.js";
import { Figure } from "./figure.js";
import { History } from "./history.js";

const REFRESH_MS = 5000;
const EARLY = [1000, 2000]; // a chart is a line from its second sample on
const EVENTS = "os_compute_api:armillary:events";
const HOST_SERVICE = "armillary-compute";

/** What this page has seen, also before another view was opened. */
const seen = new History();

/** Name of the total, its title, and its unit. */
const FIGURES = [
  ["decisions_per_second", "Decisions", "a second"],
  ["builds_under_way", "Builds under way", ""],
  ["operations_under_way", "Operations under way", ""],
  ["no_valid_host_per_second", "Found no host", "a second"],
  ["claims_refused_per_second", "Claims refused", "a second"],
  ["queue_length", "Waiting in queues", ""],
  ["leases_taken_over_total", "Leases taken over", "since the start"],
];

export function Now({ query }) {
  const isAllowed = useAllowed();
  const loaded = useLoaded(async (signal) => {
    const now = await api.get("/armillary/now", {}, signal);
    const totals = { ...now.totals, operations_under_way: now.totals.operations_under_way + now.totals.moves_under_way };
    seen.add(now.at, totals);
    return now;
  }, [], { every: REFRESH_MS, early: EARLY });
  return html`<${Head} title="Now" sub="What happens in the deployment, as it happens." />
    <div class="stack">
      <${Loaded} of=${loaded}>${(now) => html`
        ${now.down_cells.length > 0 && html`<${Note} tone="bad">${now.down_cells.length === 1 ? "The cell" : "The cells"} ${now.down_cells.join(", ")} ${now.down_cells.length === 1 ? "does" : "do"} not answer.<//>`}
        <${Figures} history=${seen} />
        <div class="columns">
          <div class="half stack">${isAllowed(EVENTS) && html`<${EventStrip} wanted=${query.q ?? ""} onWanted=${(q) => go("/now", { q }, { replace: true })} onGap=${loaded.reload} />`}</div>
          <div class="half stack"><${Works} works=${now.works} /><${Services} services=${now.services} hosts=${now.hosts} /><${Zones} zones=${now.zones} /></div>
        </div>`}<//>
    </div>`;
}

function Figures({ history }) {
  const known = FIGURES.filter(([name]) => history.has(name));
  return html`<dl class="figures">${known.map(([name, title, unit]) => html`<${Figure} key=${name} title=${title} unit=${unit} times=${history.times} values=${history.values(name)} />`)}</dl>`;
}

/** The services, and of the hosts, which are many, those that are down. */
function Services({ services, hosts }) {
  const rows = [...services, ...hosts.down];
  const seesFleet = useViewAllowed()("fleet");
  return html`<section class="card flush" aria-labelledby="services-title"><h2 id="services-title">Services</h2>
    <p class="pad soft">${format.count(hosts.total, "compute host")}: ${format.whole(hosts.up)} up${hosts.disabled > 0 ? `, ${format.whole(hosts.disabled)} disabled` : ""}${hosts.total > hosts.up ? `, ${format.whole(hosts.total - hosts.up)} down${hosts.down.length < hosts.total - hosts.up ? `, of which ${format.whole(hosts.down.length)} are named here` : ""}` : ""}.
      ${" "}${seesFleet && html`<a href=${address("/fleet", { as: "table" })}>All hosts</a>`}</p>
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of services"><table><thead><tr><th scope="col">Service</th><th scope="col">Host</th><th scope="col">Cell</th><th scope="col">State</th><th scope="col">Heartbeat</th><th scope="col" class="number">Waiting</th></tr></thead>
      <tbody>${rows.map((each) => html`<tr><th scope="row">${each.binary.replace("armillary-", "")}</th><td class="long">${each.binary === HOST_SERVICE ? html`<${HostLink} name=${each.host} />` : each.host}</td>
        <td class="long">${each.cell ?? "–"}</td><td><${Badge} state=${each.state === "up" && each.status === "disabled" ? "disabled" : each.state} /></td><td class="nowrap"><${Ago} at=${each.updated_at} /></td><td class="number">${each.figures?.queue_length === undefined ? "–" : format.whole(each.figures.queue_length)}</td></tr>`)}</tbody></table></div>
  </section>`;
}

/** Work that is under way, by its kind, operation and stage. */
function Works({ works }) {
  if (!works.length) return null;
  return html`<section class="card flush" aria-labelledby="works-title"><h2 id="works-title">Under way</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of work under way"><table><thead><tr><th scope="col">Work</th><th scope="col">Stage</th><th scope="col">Cell</th><th scope="col" class="number">Count</th><th scope="col" class="number">Without a worker</th></tr></thead>
      <tbody>${works.map((each) => html`<tr><th scope="row">${(each.operation ?? each.kind).replaceAll("_", " ")}</th><td>${each.stage?.replaceAll("_", " ") ?? "–"}</td><td class="long">${each.cell ?? "–"}</td><td class="number">${format.whole(each.count)}</td><td class="number">${format.whole(each.without_lease)}</td></tr>`)}</tbody></table></div></section>`;
}

/** This zone, those below it, and further down those that the summaries name. */
function Zones({ zones }) {
  if (!zones.length) return null;
  return html`<section class="card flush" aria-labelledby="zones-title"><h2 id="zones-title">Zones</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of zones"><table><thead><tr><th scope="col">Zone</th><th scope="col">State</th><th scope="col" class="number">Hosts up</th><th scope="col" class="number">Age of its summary</th></tr></thead>
    <tbody>${zones.map((zone) => html`<${Zone} key=${zone.path} zone=${zone} />`)}</tbody></table></div></section>`;
}

function Zone({ zone }) {
  const isOwn = zone.state === "own"; // its zones are the other rows, and its summary is for its parents
  return html`<tr><th scope="row" class="long">${zone.path || "this zone"}</th><td>${isOwn ? "this zone" : html`<${ZoneState} state=${zone.state} />`}</td>
      <td class="number">${zone.hosts === null ? "–" : `${format.whole(zone.hosts_up)} of ${format.whole(zone.hosts)}`}</td>
      <td class="number">${isOwn ? "–" : zone.summary_age_seconds === null ? "none yet" : format.duration(zone.summary_age_seconds)}</td></tr>
    ${!isOwn && html`<${Below} zones=${zone.zones} path=${zone.path} />`}`;
}

function Below({ zones, path }) {
  return zones.map(({ name, state, zones: below }) => html`<tr key=${name}><th scope="row" class="long">${path}/${name}</th><td><${ZoneState} state=${state} /></td><td class="number">–</td><td class="number">–</td></tr>
    <${Below} zones=${below} path=${`${path}/${name}`} />`);
}

const ZONE_TONES = { online: "good", stale: "warn", offline: "bad", unknown: "warn", disabled: "idle" };

const ZoneState = ({ state }) => html`<${Badge} state=${state} tone=${ZONE_TONES[state] ?? "idle"} />`;
