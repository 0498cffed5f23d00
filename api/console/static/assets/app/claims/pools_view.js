// The pools by kind: what each has, how much of it is used, and by how many claims.
import * as api from "../api.js";
import * as format from "../format.js";
import { html } from "../dom.js";
import { Badge, Empty, Field, Inventory, Loaded, Select, ShortId, useLoaded } from "../parts.js";
import { Typed } from "../listing.js";
import { byClass } from "../fleet/hosts.js";
import { address, go } from "../router.js";
import { useAllowed } from "../session.js";
import { Head } from "../shell.js";

const REFRESH_MS = 10_000;
const SHOWN_MAX = 200; // of a kind; a filter leads to the others
const AGGREGATES = "os_compute_api:os-aggregates:index";
const KIND_TRAIT = "CUSTOM_POOL_";
const DISABLED = "COMPUTE_STATUS_DISABLED";

export function Pools({ query }) {
  const loaded = useLoaded(async (signal) => (await api.get("/armillary/pools", {}, signal)).pools, [], { every: REFRESH_MS });
  return html`
    <${Head} title="Pools" crumb=${html`<a href=${address("/claims")}>Claims</a>`} sub="Resource providers that are not hosts: claims hold what they have." />
    <${Loaded} of=${loaded}>${(pools) => (pools.length
      ? html`<${Shown} pools=${pools} query=${query} />`
      : html`<div class="card"><${Empty} title="There are no pools yet"><p>Such as <code>armillary pool create array1 --kind storage --resource DISK_GB=1000</code>.</p><//></div>`)}<//>`;
}

function Shown({ pools, query }) {
  const change = (more) => go("/pools", { ...query, ...more }, { replace: true });
  const kinds = [...new Set(pools.map((pool) => pool.kind))].sort();
  const text = (query.q ?? "").toLowerCase();
  const shown = pools.filter((pool) => (!query.kind || pool.kind === query.kind) && pool.name.toLowerCase().includes(text));
  const names = useAggregateNames(pools.some((pool) => pool.aggregates.length > 0));
  return html`
    <form class="filters" role="search" aria-label="Filter pools" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Pool" wide><${Typed} value=${query.q ?? ""} placeholder="part of a name" onChange=${(q) => change({ q })} /><//>
      <${Field} label="Kind"><${Select} value=${query.kind ?? ""} onChange=${(kind) => change({ kind })} options=${[["", "All kinds"], ...kinds.map((kind) => [kind, kind])]} /><//>
    </form>
    <div class="stack">
      ${shown.length
        ? kinds.map((kind) => html`<${Kind} key=${kind} kind=${kind} pools=${shown.filter((pool) => pool.kind === kind)} names=${names} />`)
        : html`<div class="card"><${Empty} title="No pool matches"><button class="button quiet" onClick=${() => go("/pools")}>Clear the filters</button><//></div>`}
    </div>`;
}

/** Return the names of aggregates by UUID, where they are needed and may be seen. */
function useAggregateNames(isNeeded) {
  const isAsked = useAllowed()(AGGREGATES) && isNeeded;
  const loaded = useLoaded(async (signal) => (isAsked ? (await api.get("/os-aggregates", {}, signal)).aggregates : []), [isAsked]);
  return new Map((loaded.data ?? []).map((each) => [each.uuid, each.name]));
}

function Kind({ kind, pools, names }) {
  if (!pools.length) return null;
  const shown = [...pools].sort((one, other) => one.name.localeCompare(other.name, undefined, { numeric: true })).slice(0, SHOWN_MAX);
  return html`<section class="card flush" aria-labelledby=${`kind-${kind}`}>
    <h2 id=${`kind-${kind}`}>${format.words(kind)}: ${format.count(pools.length, "pool")}</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label=${`Pools of ${kind}`}><table>
      <thead><tr><th scope="col">Pool</th><th scope="col">Use</th><th scope="col" class="number">Claims</th><th scope="col" class="roomy">Traits</th><th scope="col" class="roomy">Aggregates</th></tr></thead>
      <tbody>${shown.map((pool) => html`<tr key=${pool.id}>
        <th scope="row">${pool.name}<div class="hint"><${Badge} state=${pool.status} tone=${pool.status === "enabled" ? "good" : "idle"} /> <${ShortId} id=${pool.id} /></div></th>
        <td class="use"><${Use} resources=${pool.resources} /></td>
        <td class="number">${pool.claims > 0 ? html`<a href=${address("/claims", { kind, pool: pool.name })} aria-label=${`${format.count(pool.claims, "claim")} on ${pool.name}`}>${format.whole(pool.claims)}</a>` : "0"}</td>
        <td class="roomy long"><${Tags} names=${pool.traits.filter((name) => !name.startsWith(KIND_TRAIT) && name !== DISABLED)} /></td>
        <td class="roomy long"><${Tags} names=${pool.aggregates.map((uuid) => names.get(uuid) ?? uuid.slice(0, 8))} /></td></tr>`)}</tbody>
    </table></div>
    ${pools.length > shown.length && html`<p class="pager">and ${format.count(pools.length - shown.length, "other")}: filter by name</p>`}
  </section>`;
}

function Use({ resources }) {
  const classes = Object.entries(resources).sort(([one], [other]) => byClass(one, other));
  if (!classes.length) return "no inventory";
  return html`<div class="meter">${classes.map(([name, inventory]) => html`<${Inventory} name=${name} inventory=${{ ...inventory, capacity: capacityOf(inventory) }} />`)}</div>`;
}

const capacityOf = ({ total, reserved, allocation_ratio: ratio }) => Math.max(0, Math.floor((total - reserved) * ratio));

function Tags({ names }) {
  if (!names.length) return "–";
  return html`<div class="tags">${[...names].sort().map((name) => html`<span class="tag">${name}</span>`)}</div>`;
}
