// One decision: its sentence, funnel, weights, conflicts, zones and the time of each stage.
import * as format from "../format.js";
import { html, needStyle, useState } from "../dom.js";
import { Fill, Note, Select } from "../parts.js";
import { Funnel } from "./funnel.js";
import { about } from "./trace.js";
import { Weights } from "./weights.js";

await needStyle("../../style/decision.css", import.meta.url);

const STAGES = {
  request_filters: "Request filters", candidates: "Placement", hosts: "Look up hosts", filters: "Filters",
  weigh: "Weighers", choose: "Selection", alternates: "Alternates", claim: "Claim", zones: "Zones", total: "In all",
};
const ZONE_OUTCOMES = {
  own: "own hosts fit", none: "no own host fits", asked: "offered hosts, the best of it and below", pruned: "not asked: nothing below it fits",
  late: "did not answer in time", failed: "could not be asked", stale: "not asked: its summary is stale",
  offline: "not asked: it has sent no summary", disabled: "not asked: it is disabled", cycle: "asked already, through another zone",
};

/**
 * `server` is the UUID of the server, or the claim, whose choice is shown first. `noun` is what was chosen among: hosts, or
 * pools; `hostName` shows one of them.
 */
export function Decision({ trace, server, hostLink, hostName, noun = "host" }) {
  const { choices } = trace;
  const own = Math.max(0, choices.findIndex((choice) => choice.instance_uuid === server));
  const [shown, setShown] = useState(own);
  const choice = choices[Math.min(shown, choices.length - 1)];
  return html`
    ${[...trace.notes, ...trace.old_states].map((text) => html`<${Note} tone="warn">${text}<//>`)}
    <div class="columns">
      <section class="card ${choice ? "half" : "two-thirds"}" aria-labelledby="funnel-title">
        <h2 id="funnel-title">From ${format.count(trace.hosts_total, noun)} to ${choice ? "one" : "none"}</h2>
        <${Funnel} trace=${trace} hostLink=${hostLink} hostName=${hostName} noun=${noun} />
      </section>
      <div class="stack ${choice ? "half" : "third"}">
        ${choice && html`<section class="card stack" aria-labelledby="weights-title">
          <div class="row"><h2 id="weights-title">Weights</h2>
            ${choices.length > 1 && html`<span class="inline-select"><${Select} aria-label="Server of the request" value=${String(shown)} onChange=${(value) => setShown(Number(value))}
              options=${choices.map((each, index) => [String(index), `Server ${index + 1} of ${choices.length}${each.host ? `: ${each.host}` : ""}`])} /></span>`}</div>
          <${Weights} choice=${choice} hostName=${hostName} noun=${noun} />
          <${Conflicts} conflicts=${choice.conflicts} hostName=${hostName} noun=${noun} />
          <${Alternates} alternates=${choice.alternates ?? []} hostName=${hostName} noun=${noun} />
        </section>`}
        ${trace.timings_ms.total > 0 && html`<section class="card" aria-labelledby="times-title"><h2 id="times-title">Time of each stage</h2><${Stages} timings=${trace.timings_ms} noun=${noun} /></section>`}
      </div>
      ${trace.nearest.length > 0 && html`<${Nearest} nearest=${trace.nearest} hostName=${hostName} />`}
      ${trace.zones.length > 0 && html`<${Zones} zones=${trace.zones} noun=${noun} />`}
    </div>`;
}

function Conflicts({ conflicts, hostName, noun }) {
  if (!conflicts.length) return null;
  return html`<div><h3>Refused claims</h3>
    <p class="hint">Another decision was faster; the next ${noun} was taken.</p>
    <ul>${conflicts.map((each) => html`<li>${hostName(each.host)}: ${each.reason ?? "no reason given"}</li>`)}</ul></div>`;
}

/** The next best, in their order: a failed build goes on to them; without names it says how many there are. */
function Alternates({ alternates, hostName, noun }) {
  if (!alternates.length) return null;
  const isNamed = alternates.every(Boolean);
  return html`<div><h3>${noun === "host" ? "Alternates, if the build fails" : "Alternates, which hold nothing for it"}</h3>
    <p>${isNamed ? alternates.map((name, at) => html`${at > 0 && ", "}${hostName(name)}`) : format.count(alternates.length, noun)}</p></div>`;
}

function Stages({ timings, noun }) {
  const total = timings.total ?? 0;
  const stages = Object.entries(timings).filter(([name]) => name !== "total");
  return html`<ol class="stages">
    ${[...stages, ["total", total]].map(([name, value]) => html`<li class=${name}>
      <span>${about(STAGES[name], noun) ?? name.replaceAll("_", " ")}</span>
      <span class="track" aria-hidden="true"><${Fill} class="kept" part=${total ? value / total : 0} /></span>
      <span class="number">${format.milliseconds(value)}</span>
    </li>`)}
  </ol>`;
}

function Nearest({ nearest, hostName }) {
  return html`<section class="card half" aria-labelledby="nearest-title"><h2 id="nearest-title">Nearest miss</h2>
    <ul class="stack">${nearest.map((miss) => html`<li><b>${hostName(miss.host)}</b>${miss.suffix && ` (group ${miss.suffix})`} lacks
      ${" "}${miss.lacks.map(lackText).join(" and ")}</li>`)}</ul></section>`;
}

function lackText(lack) {
  if (lack.short) return `${format.amount(lack.name, lack.short)} (${format.amount(lack.name, lack.asked)} asked, ${format.amount(lack.name, lack.free)} free)`;
  if (lack.rule) return `${lack.asked === undefined ? format.className(lack.name) : format.amount(lack.name, lack.asked)} for one request (${lack.rule}: ${format.amount(lack.name, lack.free)})`;
  return lack.kind === "trait" ? `the trait ${lack.name}` : `${lack.name}`;
}

const ANSWERED = ["own", "asked"];
const outcomeOf = ({ outcome, hosts }) => (outcome === "own" && !hosts ? "none" : outcome);

function Zones({ zones, noun }) {
  return html`<section class="card half flush" aria-labelledby="zones-title"><h2 id="zones-title">Zones</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of zones"><table><thead><tr><th scope="col">Zone</th><th scope="col">Outcome</th><th scope="col" class="number">${about("Offered hosts", noun)}</th><th scope="col" class="number">Time</th></tr></thead>
    <tbody>${zones.map((zone) => html`<tr>
      <th scope="row">${zone.path.includes(null) ? "a zone" : zone.path.join("/") || "this zone"}</th>
      <td>${about(ZONE_OUTCOMES[outcomeOf(zone)], noun) ?? zone.outcome}${zone.reason ? `: ${zone.reason}` : ""}</td>
      <td class="number">${ANSWERED.includes(zone.outcome) ? zone.hosts : ""}</td><td class="number">${zone.seconds ? format.milliseconds(zone.seconds * 1000) : ""}</td>
    </tr>`)}</tbody></table></div></section>`;
}
