// One claim: what it holds and where, its server, its end, and why it has this pool, or none.
import * as api from "../api.js";
import { html, useRef, useState } from "../dom.js";
import { Badge, Confirm, Empty, Loaded, Time, Until, useLoaded } from "../parts.js";
import { address } from "../router.js";
import { useAllowed } from "../session.js";
import { Head } from "../shell.js";
import { useToasts } from "../toasts.js";
import { Decision } from "../why/decision.js";
import { amountsOf, Pool, SEE_POOLS, titleOf, usePoolName } from "./claim.js";

const REFRESH_MS = 2500;
const EXPLAIN = "os_compute_api:armillary:claims:explain";
const DELETE = "os_compute_api:armillary:claims:delete";
const ENDED = "ENDED"; // not a status of the API, which forgets a claim that has ended

export function Claim({ id }) {
  const path = `/armillary/claims/${encodeURIComponent(id)}`;
  const isAllowed = useAllowed();
  const last = useRef(null);
  const loaded = useLoaded(async (signal) => {
    try {
      last.current = (await api.get(path, {}, signal)).claim;
    } catch (error) {
      if (error.status !== 404 || !last.current) throw error;
      last.current = { ...last.current, status: ENDED };
    }
    return last.current;
  }, [path], { every: REFRESH_MS });
  const status = loaded.data?.status;
  const isExplained = isAllowed(EXPLAIN) && Boolean(status) && status !== ENDED;
  const explained = useLoaded(async (signal) => (
    isExplained ? (await api.get(`${path}/explain`, {}, signal)).explanation : undefined // what is known stays
  ), [path, isExplained, status]);
  return html`<${Loaded} of=${loaded} title="Claim">${(claim) => html`
    <${Head} title=${titleOf(claim)} crumb=${html`<a href=${address("/claims")}>Claims</a>`} badge=${html`<${Badge} state=${status} />`} sub=${html`<code>${claim.id}</code>`}>
      ${isAllowed(DELETE) && ![ENDED, "DELETING"].includes(status) && html`<${End} claim=${claim} path=${path} reload=${loaded.reload} />`}
    <//>
    <div class="stack">
      <${Sentence} claim=${claim} />
      <section class="card" aria-labelledby="facts-title"><h2 id="facts-title">Facts</h2><${Facts} claim=${claim} /></section>
      ${isAllowed(EXPLAIN) && html`<${Why} explained=${explained} claim=${claim} />`}
    </div>`}<//>`;
}

function Sentence({ claim }) {
  const title = titleOf(claim);
  const told = {
    PENDING: ["", claim.server_id ? `${title} waits for its server to be built, or for a pool.` : `${title} waits for a pool.`],
    ACTIVE: ["good", html`${title} is ACTIVE${claim.pool && html` on the pool <${Pool} claim=${claim} />`}.`],
    ERROR: ["bad", `${title} is in ERROR: ${claim.fault ?? "no reason is given."}`],
    DELETING: ["", `${title} is ending: its resources are being released.`],
    [ENDED]: ["", `${title} has ended. What is below was true before.`],
  };
  const [tone, text] = told[claim.status] ?? ["", `${title} is ${claim.status}.`];
  return html`<div class="note sentence ${tone}"><div class="grow"><p>${text}</p></div></div>`;
}

function Facts({ claim }) {
  const seesPools = useAllowed()(SEE_POOLS);
  const poolName = usePoolName(claim.kind);
  return html`<dl class="facts">
    <dt>Kind</dt><dd>${claim.kind}</dd>
    <dt>Resources</dt><dd>${amountsOf(claim)}</dd>
    <${Traits} text="Required traits" names=${claim.required} /><${Traits} text="Forbidden traits" names=${claim.forbidden} />
    ${seesPools && html`<dt>Pool</dt><dd><${Pool} claim=${claim} />${claim.pool_id && html` <code class="hint">${claim.pool_id}</code>`}</dd>
      <dt>Alternates</dt><dd>${claim.alternates?.length ? claim.alternates.map((name, at) => html`${at > 0 && ", "}${poolName(name)}`) : "none"}</dd>`}
    <dt>Server</dt><dd>${claim.server_id ? html`<${ServerName} id=${claim.server_id} />` : "none: it stands alone"}</dd>
    <dt>Ends</dt><dd><${Ends} claim=${claim} /></dd>
    <dt>Project, user</dt><dd>${claim.project_id}, ${claim.user_id}</dd>
    <dt>Created</dt><dd><${Time} at=${claim.created_at} /></dd>
    ${claim.updated_at && html`<dt>Changed</dt><dd><${Time} at=${claim.updated_at} /></dd>`}
  </dl>`;
}

function Traits({ text, names }) {
  if (!names.length) return null;
  return html`<dt>${text}</dt><dd class="tags">${names.map((name) => html`<span class="tag">${name}</span>`)}</dd>`;
}

function Ends({ claim }) {
  const atTime = claim.ends_at && html`<${Time} at=${claim.ends_at} /> (<${Until} at=${claim.ends_at} />)`;
  if (claim.server_id) return html`with its server${atTime && html`, or ${atTime} if that is earlier`}`;
  return atTime || "when it is deleted";
}

/** The name of a server is not the claim's to tell: it is asked for once. */
function ServerName({ id }) {
  const loaded = useLoaded(async (signal) => (await api.get(`/servers/${encodeURIComponent(id)}`, {}, signal)).server.name, [id]);
  return html`<a href=${address(`/servers/${id}`)}>${loaded.data ?? html`<code>${id}</code>`}</a>`;
}

function Why({ explained, claim }) {
  const poolName = usePoolName(claim.kind);
  if (claim.status === ENDED && !explained.data) return null;
  return html`<${Loaded} of=${explained}>${({ trace }) => (trace
    ? html`<${Decision} key=${trace.request_id} trace=${trace} server=${claim.id} hostLink=${null} hostName=${poolName} noun="pool" />`
    : html`<div class="card"><${Empty} title=${claim.status === "PENDING" ? "Nothing is decided yet" : "The decision is not recorded, or no longer"} /></div>`)}<//>`;
}

function End({ claim, path, reload }) {
  const say = useToasts();
  const [isOpen, setOpen] = useState(false);
  const act = async () => {
    await api.call("DELETE", path);
    say(`${titleOf(claim)} is ending`, "good");
    reload();
  };
  return html`<button class="button danger" onClick=${() => setOpen(true)}>End it…</button>
    ${isOpen && html`<${Confirm} title=${`End ${titleOf(claim)}?`} action="End it" danger onClose=${() => setOpen(false)} onConfirm=${act}>
      ${claim.status === "ERROR" ? "It holds nothing." : `It releases what it holds: ${amountsOf(claim)}.`} This cannot be undone.<//>`}`;
}
