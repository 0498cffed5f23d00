// The live event strip: the newest first, with a filter and a pause.
import * as clock from "../clock.js";
import * as format from "../format.js";
import { html, useEffect, useRef, useState } from "../dom.js";
import { Empty } from "../parts.js";
import { follow } from "../events.js";
import { usePoolName } from "../claims/claim.js";
import { HostLink } from "../host_link.js";
import { address } from "../router.js";

const SHOWN_MAX = 200;
const FRAME_MS = 250; // events are shown together this often, however fast they come
const STATES = {
  waiting: ["", "connecting…"], live: ["on", "live"], lost: ["off", "reconnecting…"], refused: ["off", "not available"],
  full: ["off", "as many clients follow events as the API allows: trying again…"],
  brokerless: ["off", "the message broker is unavailable"],
};

/** `wanted` filters by a part of a text; `onWanted` is called when another one is typed. */
export function EventStrip({ wanted, onWanted, onGap }) {
  const [events, setEvents] = useState([]);
  const [state, setState] = useState("waiting");
  const [isPaused, setPaused] = useState(false);
  const paused = useRef(false);
  paused.current = isPaused;
  useEffect(() => {
    let waiting = [];
    const timer = setInterval(() => {
      if (!waiting.length || paused.current) return;
      const fresh = waiting.reverse();
      waiting = [];
      setEvents((old) => [...fresh, ...old].slice(0, SHOWN_MAX));
    }, FRAME_MS);
    let number = 0;
    const stop = follow({}, {
      onEvent: (event) => {
        number += 1;
        waiting.push({ ...event, number });
        if (waiting.length > SHOWN_MAX) waiting.shift();
      },
      onState: setState,
      onGap: () => {
        number += 1;
        waiting.push({ number, time: new Date(clock.now()).toISOString(), type: "reconnected", gap: true });
        onGap?.();
      },
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, []);
  const [tone, said] = STATES[state];
  const text = wanted.toLowerCase();
  const shown = text ? events.filter((event) => `${event.type} ${event.name} ${event.host} ${event.server} ${event.pool}`.toLowerCase().includes(text)) : events;
  return html`<section class="card flush" aria-labelledby="events-title">
    <div class="row pad"><h2 id="events-title">Events</h2><span class="live ${tone}" role="status">${said}</span>
      <span class="push"></span><input class="short" type="search" aria-label="Filter events" placeholder="Filter" value=${wanted} onInput=${(event) => onWanted(event.target.value)} />
      <button class="button small" aria-pressed=${String(isPaused)} onClick=${() => setPaused(!isPaused)}>${isPaused ? "Continue" : "Pause"}</button></div>
    ${shown.length
      ? html`<ol class="strip" tabIndex="0" role="log" aria-label="Live events" aria-live="off">${shown.map((event) => html`<${Event} key=${event.number} event=${event} />`)}</ol>`
      : html`<${Empty} title=${events.length ? "No event matches" : "Nothing has happened since this page was opened"}>Events of servers, hosts and decisions appear here.<//>`}
  </section>`;
}

function Event({ event }) {
  const hasFailed = /error|exception|failed/.test(event.type ?? "") || event.priority === "ERROR";
  if (event.gap) return html`<li><time>${format.timeOfDay(event.time)}</time><span class="kind">reconnected</span><span class="soft">Some events before this are not listed; the figures are up to date.</span></li>`;
  const said = [event.state, event.task_state, event.attempt ? `attempt ${event.attempt}` : null, event.reason].filter(Boolean).join(" · ");
  return html`<li class=${hasFailed ? "bad" : ""}><time title=${format.zonedTime(event.time)}>${format.timeOfDay(event.time)}</time>
    <span class="kind">${event.type}</span>
    <span>${event.server ? html`<a href=${address(`/servers/${event.server}`)}>${event.name ?? event.server.slice(0, 8)}</a>` : event.name ?? ""}
      ${event.host && html` <span class="soft">on</span> ${event.host.split(", ").map((host, at) => html`${at > 0 && ", "}<${HostLink} name=${host} />`)}`}
      ${event.kind && html`<${Claimed} event=${event} />`} <span class="soft">${said}</span></span></li>`;
}

/** What an event about claims is about, and the pool where the policy shows it. */
function Claimed({ event }) {
  const poolName = usePoolName(event.kind);
  const claims = event.claims.length === 1 ? html`<a href=${address(`/claims/${event.claims[0]}`)}>a claim</a>` : `${event.claims.length} claims`;
  return html`${claims} <span class="soft">on</span> ${event.pool ? html`${event.kind} pool ${poolName(event.pool)}` : `a ${event.kind} pool`}`;
}
