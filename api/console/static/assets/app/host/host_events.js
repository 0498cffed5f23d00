// What happened on a host, newest first: changes of its service, and steps of operations on servers there.
import * as api from "../api.js";
import * as format from "../format.js";
import { html } from "../dom.js";
import { useChanges } from "../events.js";
import { Badge, Empty, Loaded, PageBar, Time, useLoaded } from "../parts.js";
import { address, go } from "../router.js";
import { useAllowed } from "../session.js";

const PAGE = 20;
const REFRESH_MS = 30_000; // the event stream says when there is something new
const SEE = "os_compute_api:armillary:fleet:host_events";
const FOLLOW = "os_compute_api:armillary:events";

/** Change of a host -> its words and tone. */
const CHANGES = {
  created: ["Added to the fleet", "good"], removed: ["Removed from the fleet", "idle"],
  up: ["Up: its heartbeat is back", "good"], down: ["Down: its heartbeat is missing", "bad"],
  enabled: ["Enabled", "good"], disabled: ["Disabled", "idle"],
  forced_down: ["Forced down", "bad"], forced_down_ended: ["No longer forced down", "good"], fenced: ["Fenced", "warn"],
};
/** Step by which a server comes to a host, or leaves it -> its words, and what is said once it has succeeded. */
const CAME = { compute_build_instance: ["Build", "server came"], compute_delete_instance: ["Deletion", "server left"] };

export function HostEvents({ name, query }) {
  const isAllowed = useAllowed();
  return isAllowed(SEE) ? html`<${Listed} name=${name} marker=${query.events} isFollowing=${isAllowed(FOLLOW)} />` : null;
}

/** The newest page follows what happens; an older one, whose marker is in the address, does not change. */
function Listed({ name, marker, isFollowing }) {
  const path = `/hosts/${encodeURIComponent(name)}`;
  const loaded = useLoaded((signal) => api.get(`/armillary${path}/events`, { limit: PAGE, marker }, signal), [name, marker], { every: marker ? null : REFRESH_MS });
  useChanges({ host: name }, isFollowing && !marker, loaded.refresh);
  return html`<section class="card flush" aria-labelledby="host-events-title"><h2 id="host-events-title">Events</h2>
    <${Loaded} of=${loaded}>${({ events, next_marker: next }) => html`
      ${events.length ? html`<${Table} events=${events} />` : html`<${Empty} title="Nothing is recorded yet" />`}
      ${(marker || next) && html`<${PageBar} buttons=${[["Newest", marker && (() => go(path))], ["Older", next && (() => go(path, { events: next }))]]}>
        ${marker ? "Older events" : "Newest events"}<//>`}`}<//></section>`;
}

function Table({ events }) {
  return html`<div class="scroll" tabIndex="0" role="region" aria-label="Events of this host"><table>
    <thead><tr><th scope="col">When</th><th scope="col">Event</th><th scope="col">Server</th><th scope="col">By</th><th scope="col">Details</th></tr></thead>
    <tbody>${events.map((event) => html`<tr>
      <td class="nowrap"><${Time} at=${event.at} /></td><td class="nowrap"><${What} event=${event} /></td><td class="title"><${Server} event=${event} /></td>
      <td>${event.user_id ?? ""}</td><td class="detail">${event.details ?? ""}</td></tr>`)}</tbody></table></div>`;
}

function What({ event }) {
  const known = CHANGES[event.event];
  if (!event.action) return html`<${Badge} tone=${known?.[1] ?? "idle"}>${known?.[0] ?? format.words(event.event)}<//>`;
  const [words, came] = CAME[event.event] ?? [format.words(event.event.replace(/^compute_/, ""))];
  const hasFailed = event.result === "Error";
  const tone = hasFailed ? "bad" : event.ended_at ? "good" : "busy";
  const said = hasFailed ? "failed" : event.ended_at ? came ?? "done" : "under way";
  return html`${words} <${Badge} tone=${tone}>${said}<//>`;
}

function Server({ event }) {
  if (!event.server_id) return null;
  return html`<a href=${address(`/servers/${event.server_id}`)}>${event.server_name ?? event.server_id.slice(0, 8)}</a>`;
}
