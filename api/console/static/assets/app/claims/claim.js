// How a claim is shown wherever it is: its title, its amounts, its pool.
import * as format from "../format.js";
import { html } from "../dom.js";
import { byClass } from "../fleet/hosts.js";
import { address } from "../router.js";
import { useViewAllowed } from "../session.js";

export const ALL_PROJECTS = "os_compute_api:armillary:claims:index:all_projects";
export const SEE_POOLS = "os_compute_api:armillary:claims:pools";

/** Return what a claim is called: it need not have a name. */
export const titleOf = (claim) => claim.name || `${claim.kind} ${claim.id.slice(0, 8)}`;

/** Return the amounts that a claim holds, or asked for. */
export function amountsOf(claim) {
  return Object.entries(claim.resources).sort(([one], [other]) => byClass(one, other))
    .map(([name, value]) => `${format.className(name)} ${format.amount(name, value)}`).join(", ");
}

/** Return a function that shows a pool of a kind by its name; one of another zone is called ZONE:POOL. */
export function usePoolName(kind) {
  const mayOpen = useViewAllowed();
  return (name) => {
    if (!name) return "a pool";
    return mayOpen("pools") && !name.includes(":") ? html`<a href=${address("/pools", { kind, q: name })}>${name}</a>` : name;
  };
}

/** The pool that a claim has. */
export function Pool({ claim }) {
  const poolName = usePoolName(claim.kind);
  if (!claim.pool) return "–";
  return claim.zone ? `${claim.pool} (zone ${claim.zone})` : poolName(claim.pool);
}
