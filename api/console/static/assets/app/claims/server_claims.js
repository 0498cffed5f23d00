// The claims that belong to a server; they end with it.
import * as api from "../api.js";
import { html } from "../dom.js";
import { Badge, useLoaded } from "../parts.js";
import { address } from "../router.js";
import { CLAIMS, useAllowed } from "../session.js";
import { ALL_PROJECTS, amountsOf, Pool, SEE_POOLS, titleOf } from "./claim.js";

const REFRESH_MS = 15_000;
const SHOWN_MAX = 20; // the list of claims has the others

/** Nothing is shown of a server without claims, as most are. */
export function ServerClaims({ id }) {
  const isAllowed = useAllowed();
  const isAsked = isAllowed(CLAIMS);
  const loaded = useLoaded(async (signal) => (
    isAsked ? (await api.get("/armillary/claims", { server_id: id, limit: SHOWN_MAX + 1, all_projects: isAllowed(ALL_PROJECTS) || undefined }, signal)).claims : []
  ), [id, isAsked], { every: isAsked ? REFRESH_MS : null });
  const claims = loaded.data ?? [];
  if (!claims.length) return null;
  return html`<section class="card flush" aria-labelledby="claims-title"><h2 id="claims-title">Claims</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label="Claims of this server"><table>
      <thead><tr><th scope="col">Claim</th><th scope="col">Kind</th><th scope="col">Resources</th><th scope="col">Status</th>${isAllowed(SEE_POOLS) && html`<th scope="col">Pool</th>`}</tr></thead>
      <tbody>${claims.slice(0, SHOWN_MAX).map((claim) => html`<tr key=${claim.id}>
        <th scope="row" class="title"><a href=${address(`/claims/${claim.id}`)} title=${titleOf(claim)}>${titleOf(claim)}</a></th><td>${claim.kind}</td><td class="amounts">${amountsOf(claim)}</td>
        <td><${Badge} state=${claim.status} /></td>${isAllowed(SEE_POOLS) && html`<td class="long"><${Pool} claim=${claim} /></td>`}</tr>`)}</tbody></table></div>
    ${claims.length > SHOWN_MAX && html`<p class="pager"><a href=${address("/claims", { server: id })}>All its claims</a></p>`}
  </section>`;
}
