// Why a server is where it is, or why a request found no host; for moves too.
import * as api from "../api.js";
import * as format from "../format.js";
import { html } from "../dom.js";
import { Badge, Empty, Loaded, Time, useLoaded } from "../parts.js";
import { address } from "../router.js";
import { useHostName } from "../host_link.js";
import { useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { Decision } from "./decision.js";

const REFRESH_MS = 5000; // while the server is being built or moved
const SETTLED_MS = 20_000; // it may be moved, stopped or deleted later

export function Why({ id, query }) {
  const loaded = useLoaded(
    (signal) => api.get(`/armillary/servers/${encodeURIComponent(id)}/explain`, { request_id: query.request_id }, signal),
    [id, query.request_id], { every: (data) => (isMoving(data?.explanation.server.status) ? REFRESH_MS : SETTLED_MS) },
  );
  return html`<${Loaded} of=${loaded} title="Why">${({ explanation }) => html`<${Explanation} explanation=${explanation} />`}<//>`;
}

const isMoving = (status) => status === "BUILD" || status?.endsWith("ING");

function Explanation({ explanation }) {
  const ownName = useHostName();
  const hostName = explanation.server.zone ? (name) => name ?? "a host" : ownName; // the other zone's to show
  const attemptsOf = { server: explanation.server, attempts: isOfCreate(explanation.decision) ? explanation.attempts : [], faults: explanation.faults, hostName };
  const hasFailed = attemptsOf.attempts.some(isFailed); // then where it is follows from the attempts more than from the weights
  const hostLink = useViewAllowed()("fleet") ? (query) => address("/fleet", query) : null;
  const { server, decision, trace, decisions, attempts, faults } = explanation;
  return html`
    <${Head} title=${`Why: ${server.name}`} crumb=${html`<a href=${address("/servers")}>Servers</a> / <a href=${address(`/servers/${server.id}`)}>${server.name}</a>`}
      badge=${html`<${Badge} state=${server.status} />`} sub=${html`<code>${server.id}</code>`} />
    <div class="stack">
      <${Sentence} explanation=${explanation} hostName=${hostName} />
      ${hasFailed && html`<${Attempts} ...${attemptsOf} />`}
      ${decisions.length > 1 && html`<${Decisions} server=${server.id} decisions=${decisions} shown=${decision?.request_id} />`}
      ${trace
        ? html`<${Decision} key=${trace.request_id} trace=${trace} server=${server.id} hostLink=${hostLink} hostName=${hostName} />`
        : html`<div class="card"><${Empty} title="The decision is not recorded, or no longer">Traces are kept for a limited time.<//></div>`}
      ${!hasFailed && html`<${Attempts} ...${attemptsOf} />`}
    </div>`;
}

/** Operation -> its name in a sentence. */
const NOUNS = { create: "creation", migrate: "migration", evacuate: "evacuation", unshelve: "unshelving", live_migration: "live migration" };
const nounOf = (operation) => NOUNS[operation.replaceAll("-", "_")] ?? operation.replaceAll("_", " ");

/** Attempts are those of the build; a move has its steps in the life of the server. */
const isOfCreate = (decision) => !decision || decision.operation === "create";

const isFailed = (attempt) => Boolean(attempt.result) && attempt.result !== "Success";

/** What `armillary explain` says first. */
function Sentence({ explanation, hostName }) {
  const { server, decision, trace, attempts, faults, wait } = explanation;
  const on = server.host ? ` on ${server.host}${server.zone ? ` (zone ${server.zone})` : ""}` : "";
  const attempt = server.attempt && isOfCreate(decision) ? `, attempt ${server.attempt} of ${Math.max(attempts.length, server.attempt)}` : "";
  const said = server.status === "ERROR"
    ? `${server.name} is in ERROR${faults.length ? `: ${faults.at(-1).message}` : "."}`
    : server.status === "BUILD" ? `${server.name} is being built${on}${attempt}.` : `${server.name} is ${server.status}${on}${attempt}.`;
  const why = trace?.sentence ?? decision?.sentence;
  const failed = isOfCreate(decision) ? attempts.filter(isFailed) : [];
  const tone = why || wait || server.status === "ERROR" ? "bad" : "good";
  return html`<div class="note sentence ${tone}"><div class="grow">
    <p>${said}</p>
    ${why && !said.includes(why) && html`<p class="why">${why}</p>`}
    ${wait && html`<p class="why">${wait.message}${wait.reason && ` Last error: ${wait.reason}`}</p>`}
    ${failed.length > 0 && server.status !== "ERROR" && html`<p class="why">${failed.length === 1 ? "The build" : "Builds"} failed on ${failed.map((each, at) => html`${at > 0 && ", "}${hostName(each.host)}`)}; the next alternate was used.</p>`}
    ${decision && html`<p class="hint">Decided <${Time} at=${decision.decided_at} /> about its ${nounOf(decision.operation)}, request <code>${decision.request_id ?? "unknown"}</code></p>`}
  </div></div>`;
}

function Decisions({ server, decisions, shown }) {
  return html`<nav class="card flush" aria-labelledby="decisions-title"><h2 id="decisions-title">${format.count(decisions.length, "decision")} about this server</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label="Decisions"><table>
      <thead><tr><th scope="col">When</th><th scope="col">Operation</th><th scope="col">Result</th><th scope="col">Request</th></tr></thead>
      <tbody>${decisions.map((each) => html`<tr>
        <td class="nowrap"><${Time} at=${each.decided_at} /></td>
        <th scope="row"><a href=${address(`/why/${server}`, { request_id: each.request_id })} aria-current=${each.request_id === shown ? "true" : undefined}>${nounOf(each.operation)}</a>${each.request_id === shown && " (shown)"}</th>
        <td class="nowrap">${each.sentence ? "no host was found" : each.host ?? "a host"}</td><td class="nowrap"><code>${each.request_id ?? "–"}</code></td>
      </tr>`)}</tbody></table></div></nav>`;
}

function Attempts({ server, attempts, faults, hostName }) {
  const details = new Map(faults.map((fault) => [fault.attempt, fault]));
  const shown = new Set(attempts.map((each) => each.attempt));
  // The last fault of a server in ERROR is the sentence on top.
  const others = faults.filter((fault) => !shown.has(fault.attempt) && !(server.status === "ERROR" && fault === faults.at(-1)));
  if (!attempts.length && !others.length) return null;
  return html`<section class="card" aria-labelledby="attempts-title"><h2 id="attempts-title">${attempts.length ? "Attempts" : "Faults"}</h2>
    <ol class="timeline">
      ${attempts.map((each) => html`<li class=${each.result === "Success" ? "good" : isFailed(each) ? "bad" : "busy"}>
        <span class="what">Attempt ${each.attempt} on ${hostName(each.host)}</span>
        ${" "}<${Badge} tone=${each.result === "Success" ? "good" : each.result ? "bad" : "busy"}>${each.result === "Success" ? "built" : each.result ? "failed" : "under way"}<//>
        ${each.reason && html`<div class="detail">${each.reason}</div>`}
        ${details.get(each.attempt)?.details && html`<details><summary>Details</summary><pre class="detail">${details.get(each.attempt).details}</pre></details>`}
      </li>`)}
      ${others.map((fault) => html`<li class="bad"><span class="what">${fault.message}</span> <span class="when"><${Time} at=${fault.created} /></span>
        ${fault.details && html`<div class="detail">${fault.details}</div>`}</li>`)}
    </ol></section>`;
}
