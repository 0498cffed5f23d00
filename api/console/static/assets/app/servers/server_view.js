// One server: what it is, where it is, and its life: decisions, operations with their steps, moves and faults.
import * as api from "../api.js";
import * as format from "../format.js";
import { html } from "../dom.js";
import { useChanges } from "../events.js";
import { Ago, Badge, Empty, Loaded, Note, Time, useLoaded } from "../parts.js";
import { address, go } from "../router.js";
import { HostLink } from "../host_link.js";
import { ServerClaims } from "../claims/server_claims.js";
import { useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { useToasts } from "../toasts.js";
import { ServerMenu } from "./server_menu.js";
import { lifeOf } from "./life.js";

const REFRESH_MS = 2500;
const DETAILED_MAX = 30; // operations with their steps; older ones are listed without
const HOST_MS = 15_000; // until a host counts as down takes longer
const UNKNOWN = "UNKNOWN"; // status of a server whose cell does not answer
const EVENTS = "os_compute_api:armillary:events";

export function Server({ id }) {
  const say = useToasts();
  const isAllowed = useAllowed();
  const loaded = useLoaded((signal) => load(id, isAllowed, signal), [id], { every: REFRESH_MS });
  useChanges({ server: id }, isAllowed(EVENTS), loaded.refresh);
  const server = loaded.data?.server;
  const hostState = useHostState(server?.["armillary:zone"] ? null : server?.["OS-EXT-SRV-ATTR:host"]);
  const done = (text, action) => {
    say(text, "good");
    if (action.removes) go("/servers");
    else loaded.reload();
  };
  return html`<${Loaded} of=${loaded} title="Server">${(found) => html`<${Shown} found=${found} hostState=${hostState} onDone=${done} />`}<//>`;
}

/** Return the state of the server's host, null where it is not known. */
function useHostState(host) {
  const isAsked = useViewAllowed()("hosts") && Boolean(host);
  const loaded = useLoaded(async (signal) => (
    isAsked ? (await api.get(`/armillary/hosts/${encodeURIComponent(host)}`, {}, signal)).state : null
  ), [host, isAsked], { every: isAsked ? HOST_MS : null });
  return isAsked && !loaded.error ? loaded.data : null;
}

async function load(id, isAllowed, signal) {
  const path = `/servers/${encodeURIComponent(id)}`;
  const optional = (promise) => promise.catch((error) => { if (error.name === "AbortError") throw error; return null; });
  const [server, actions, migrations] = await Promise.all([
    api.get(path, {}, signal),
    optional(api.get(`${path}/os-instance-actions`, {}, signal)),
    isAllowed("os_compute_api:os-migrations:index") ? optional(api.get("/os-migrations", { instance_uuid: id }, signal)) : null,
  ]);
  const brief = actions?.instanceActions ?? [];
  const full = await Promise.all(brief.slice(0, DETAILED_MAX).map((each) => optional(stepsOf(path, each, signal))));
  const image = await optional(nameOfImage(server.server.image?.id, signal));
  return { server: server.server, image, hasActions: actions !== null, actions: brief.map((each, index) => full[index] ?? each), migrations: migrations?.migrations ?? [] };
}

const imageNames = new Map(); // null for one that is gone, although its servers are there

async function nameOfImage(id, signal) {
  if (!id) return null;
  if (!imageNames.has(id)) imageNames.set(id, await currentNameOfImage(id, signal));
  return imageNames.get(id);
}

async function currentNameOfImage(id, signal) {
  try {
    return (await api.get(`/images/${encodeURIComponent(id)}`, {}, signal)).image.name;
  } catch (error) {
    if (error.status !== 404) throw error;
    return null;
  }
}

const finished = new Map(); // steps of actions that have ended; they do not change again
const FINISHED_MAX = 500;

async function stepsOf(path, action, signal) {
  const key = `${action.request_id} ${action.updated_at} ${action.message}`;
  const known = finished.get(key);
  if (known) return known;
  const { instanceAction } = await api.get(`${path}/os-instance-actions/${action.request_id}`, {}, signal);
  if (instanceAction.events.length && instanceAction.events.every((event) => event.finish_time)) {
    if (finished.size >= FINISHED_MAX) finished.clear();
    finished.set(key, instanceAction);
  }
  return instanceAction;
}

function Shown({ found, hostState, onDone }) {
  const { server, migrations } = found;
  const isExplained = useViewAllowed()("why");
  return html`
    <${Head} title=${server.name ?? server.id} crumb=${html`<a href=${address("/servers")}>Servers</a>`} badge=${html`<${Badge} state=${server.status} />`} sub=${html`<code>${server.id}</code>`}>
      ${isExplained && html`<a class="button primary" href=${address(`/why/${server.id}`)}>Why is it ${server.status === "ERROR" ? "in ERROR" : "there"}?</a>`}
      <${ServerMenu} server=${server} known=${{ hostState, migrations }} onDone=${onDone} small=${false} />
    <//>
    <div class="stack">
      ${server.fault && html`<${Note} tone="bad"><b>${server.fault.message}</b>${server.fault.details && server.fault.details !== server.fault.message && !server.fault.message.includes(server.fault.details) && html`<div>${server.fault.details}</div>`}<div class="hint"><${Time} at=${server.fault.created} /></div><//>`}
      ${server.status === UNKNOWN && html`<${Note} tone="warn">Its cell does not answer: its state and more about it will be shown when it does.<//>`}
      ${server.locked && html`<${Note} tone="warn">Locked${server.locked_reason ? `: ${server.locked_reason}` : ""}.<//>`}
      <div class="columns">
        <section class="card five" aria-labelledby="facts-title"><h2 id="facts-title">Facts</h2><${Facts} server=${server} image=${found.image} hostState=${hostState} /></section>
        <section class="card seven" aria-labelledby="life-title"><h2 id="life-title">Life</h2><${Life} found=${found} /></section>
        <${ServerClaims} id=${server.id} />
      </div>
    </div>`;
}

function Facts({ server, image, hostState }) {
  const host = server["OS-EXT-SRV-ATTR:host"]; // undefined for those who may not see it
  const { flavor } = server;
  const hints = Object.entries(server["armillary:scheduler_hints"] ?? {});
  const task = server["OS-EXT-STS:task_state"];
  const addresses = Object.entries(server.addresses ?? {});
  const volumes = server["os-extended-volumes:volumes_attached"] ?? [];
  return html`<dl class="facts">
    ${task && html`<dt>Under way</dt><dd>${task.replaceAll("_", " ")}</dd>`}
    ${host !== undefined && html`<dt>Host</dt><dd><${HostLink} name=${host} zone=${server["armillary:zone"]} none="none" />${hostState && hostState !== "up" && html` <${Badge} state=${hostState} />`}</dd>`}
    <dt>Zone</dt><dd>${server["OS-EXT-AZ:availability_zone"] || "none"}${server.pinned_availability_zone && " (requested)"}</dd>
    ${flavor && html`<dt>Flavor</dt><dd>${flavor.original_name}</dd>
      <dt>Resources</dt><dd>${flavor.vcpus} vCPU, ${format.mebibytes(flavor.ram)} memory, ${format.gibibytes(flavor.disk + flavor.ephemeral)} disk</dd>
      ${Object.keys(flavor.extra_specs ?? {}).length > 0 && html`<dt>Extra specs</dt><dd class="tags">${Object.entries(flavor.extra_specs).map(([key, value]) => html`<span class="tag">${key}=${value}</span>`)}</dd>`}`}
    <dt>Image</dt><dd>${server.image ? html`${image && `${image} `}<code>${server.image.id}</code>` : "none (volume)"}</dd>
    ${hints.length > 0 && html`<dt>Scheduler hints</dt><dd class="tags">${hints.map(([key, value]) => html`<span class="tag">${key}=${[value].flat().join(", ")}</span>`)}</dd>`}
    ${server.server_groups?.length > 0 && html`<dt>Server group</dt><dd><code>${server.server_groups[0]}</code></dd>`}
    ${addresses.length > 0 && html`<dt>Addresses</dt><dd>${addresses.map(([network, list]) => html`<div>${network}: ${list.map((each) => each.addr).join(", ")}</div>`)}</dd>`}
    ${volumes.length > 0 && html`<dt>Volumes</dt><dd>${volumes.map((volume) => html`<div><code>${volume.id}</code></div>`)}</dd>`}
    <dt>Project, user</dt><dd>${server.tenant_id}, ${server.user_id}</dd>
    <dt>Created</dt><dd><${Time} at=${server.created} /> (<${Ago} at=${server.created} />)</dd>
    ${server.status !== UNKNOWN && html`<dt>Running since</dt><dd>${server["OS-SRV-USG:launched_at"] ? html`<${Time} at=${server["OS-SRV-USG:launched_at"]} />` : "not yet"}</dd>`}
    ${Object.keys(server.metadata ?? {}).length > 0 && html`<dt>Metadata</dt><dd class="tags">${Object.entries(server.metadata).map(([key, value]) => html`<span class="tag">${key}=${value}</span>`)}</dd>`}
    ${server.tags?.length > 0 && html`<dt>Tags</dt><dd class="tags">${server.tags.map((tag) => html`<span class="tag">${tag}</span>`)}</dd>`}
  </dl>`;
}

function Life({ found }) {
  const life = lifeOf(found);
  const isExplained = useViewAllowed()("why");
  if (!life.length) return html`<${Empty} title=${found.hasActions ? "Nothing is recorded yet" : "Its life cannot be shown"} />`;
  return html`<ol class="timeline">${life.map((each) => html`<li class=${each.tone}>
    <div><span class="what">${each.what}</span> <${Badge} tone=${each.tone || "idle"}>${each.state}<//>
      ${isExplained && each.requestId && html` <a class="small" href=${address(`/why/${found.server.id}`, { request_id: each.requestId })}>Why</a>`}</div>
    <div class="when"><${Time} at=${each.at} />${each.took && `, took ${each.took}`}</div>
    ${each.detail && html`<div class="detail">${each.detail}</div>`}
    ${each.steps.length > 0 && html`<ul class="detail small">${each.steps.map((step) => html`<li>${step}</li>`)}</ul>`}
  </li>`)}</ol>`;
}
