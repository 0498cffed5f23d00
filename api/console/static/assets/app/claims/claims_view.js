// The claims on pools: a table whose pages and filters come from the API, newest first.
import { html } from "../dom.js";
import { Ago, Badge, Empty, Field, Loaded, Select, ShortId, Until, useLoaded } from "../parts.js";
import { nextMarker, Pager, Typed, usePage } from "../listing.js";
import { address, go } from "../router.js";
import { useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { ALL_PROJECTS, amountsOf, Pool, SEE_POOLS, titleOf } from "./claim.js";

const PAGE = 50;
const REFRESH_MS = 5000;

export function Claims({ query }) {
  const isAllowed = useAllowed();
  const mayOpen = useViewAllowed();
  const seesAll = isAllowed(ALL_PROJECTS);
  const seesPools = isAllowed(SEE_POOLS);
  const inQuery = {
    limit: PAGE, marker: query.marker, kind: query.kind, server_id: query.server,
    ...(seesPools ? { pool: query.pool } : {}),
    ...(seesAll && query.all !== "no" ? { all_projects: true } : {}),
  };
  const load = usePage("/claims", query, "claim");
  const loaded = useLoaded((signal) => load("/armillary/claims", inQuery, signal), [JSON.stringify(inQuery)], { every: REFRESH_MS });
  const change = (more) => go("/claims", { ...query, marker: null, ...more }, { replace: true });
  return html`
    <${Head} title="Claims" sub="Resources of pools that projects hold: storage, addresses, licences.">
      ${mayOpen("pools") && html`<a class="button" href=${address("/pools", { kind: query.kind })}>Pools</a>`}
    <//>
    <form class="filters" role="search" aria-label="Filter claims" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Kind" wide><${Typed} value=${query.kind ?? ""} placeholder="such as storage" onChange=${(kind) => change({ kind })} /><//>
      <${Field} label="Server" wide><${Typed} value=${query.server ?? ""} placeholder="ID of a server" onChange=${(server) => change({ server })} /><//>
      ${seesPools && html`<${Field} label="Pool" wide><${Typed} value=${query.pool ?? ""} placeholder="name or ID of a pool" onChange=${(pool) => change({ pool })} /><//>`}
      ${seesAll && html`<${Field} label="Projects"><${Select} value=${query.all ?? ""} onChange=${(all) => change({ all })} options=${[["", "All projects"], ["no", "My project"]]} /><//>`}
    </form>
    <section class="card flush" aria-label="Claims">
      <${Loaded} of=${loaded}>${(data) => html`<${Table} data=${data} query=${query} seesAll=${seesAll} seesPools=${seesPools} />`}<//>
    </section>`;
}

function Table({ data, query, seesAll, seesPools }) {
  const { claims } = data;
  if (!claims.length && !query.marker) {
    return query.kind || query.server || query.pool
      ? html`<${Empty} title="No claim matches"><button class="button quiet" onClick=${() => go("/claims")}>Clear the filters</button><//>`
      : html`<${Empty} title="There are no claims yet"><p>Such as <code>armillary claim create data --kind storage --resources DISK_GB=500</code>.</p><//>`;
  }
  return html`
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of claims"><table>
      <thead><tr><th scope="col">Claim</th><th scope="col" class="roomy">ID</th><th scope="col">Kind</th><th scope="col">Resources</th><th scope="col">Status</th>
        ${seesPools && html`<th scope="col">Pool</th>`}<th scope="col" class="roomy">Server</th><th scope="col" class="roomy">Ends</th><th scope="col">Created</th>${seesAll && html`<th scope="col" class="roomy">Project</th>`}</tr></thead>
      <tbody>${claims.map((claim) => html`<tr key=${claim.id}>
        <th scope="row" class="title"><a href=${address(`/claims/${claim.id}`)} title=${titleOf(claim)}>${titleOf(claim)}</a></th>
        <td class="hint roomy"><${ShortId} id=${claim.id} /></td>
        <td>${claim.kind}</td><td class="amounts">${amountsOf(claim)}</td><td><${Badge} state=${claim.status} /></td>
        ${seesPools && html`<td class="long"><${Pool} claim=${claim} /></td>`}
        <td class="roomy">${claim.server_id ? html`<a href=${address(`/servers/${claim.server_id}`)}><${ShortId} id=${claim.server_id} /></a>` : "–"}</td>
        <td class="roomy nowrap">${claim.ends_at ? html`<${Until} at=${claim.ends_at} />` : claim.server_id ? "with its server" : "–"}</td>
        <td class="nowrap"><${Ago} at=${claim.created_at} /></td>
        ${seesAll && html`<td class="roomy">${claim.project_id}</td>`}</tr>`)}</tbody>
    </table></div>
    <${Pager} path="/claims" query=${query} noun="claim" count=${claims.length} next=${nextMarker(data.claims_links)} />`;
}
