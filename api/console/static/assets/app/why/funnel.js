// The funnel of a decision: all hosts, what each rule and filter left, and those that were weighed.
import * as format from "../format.js";
import { html, useState } from "../dom.js";
import { Fill } from "../parts.js";
import { stepsOf } from "./trace.js";

/** `hostLink` makes the link to hosts from a query of the fleet view; without it there are none. `hostName` shows a host, or another `noun`. */
export function Funnel({ trace, hostLink, hostName = (name) => name, noun = "host" }) {
  const { total, candidates, steps, weighed } = stepsOf(trace, noun);
  const hasChoice = trace.choices.length > 0;
  return html`<ol class="funnel" aria-label=${`Steps from all ${noun}s to those that were weighed`}>
    <${Stage} label=${`All ${noun}s`} left=${total} total=${total} noun=${noun} />
    ${steps.map((step) => html`<${Step} step=${step} total=${total} hostLink=${hostLink} hostName=${hostName} noun=${noun} />`)}
    <${Stage} label=${hasChoice ? "Weighed" : weighed ? "Left" : "None left"} left=${weighed} total=${total} noun=${noun} tone=${weighed ? "end" : "none"}
      detail=${hasChoice ? "the best one was selected" : ""} />
    ${candidates > 0 && steps.length === 0 && html`<li class="hint">No rule and no filter removed a ${noun}.</li>`}
  </ol>`;
}

function Stage({ label, left, total, noun, tone = "start", detail }) {
  return html`<li class="step ${tone}">
    <span class="label"><b>${label}</b>${detail && html`<span class="detail">${detail}</span>`}</span>
    <span class="track" aria-hidden="true"><${Fill} class="kept" part=${total ? left / total : 0} /></span>
    <span class="removed"></span>
    <span class="left">${format.count(left, noun)}</span>
  </li>`;
}

function Step({ step, total, hostLink, hostName, noun }) {
  const [isOpen, setOpen] = useState(false);
  const link = step.now && step.removed > 0 && hostLink?.(step.now);
  const hasMore = step.reasons.length > 1 || step.hosts.length > 0 || link;
  const label = html`<b>${breakable(step.label)}</b>${step.removed > 0 && step.detail && html`<span class="detail">${step.detail}</span>`}`;
  return html`<li class="step ${step.removed ? "" : "idle"}">
    ${hasMore
      ? html`<button type="button" class="label" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>${label}</button>`
      : html`<span class="label">${label}</span>`}
    <span class="track" aria-hidden="true">
      <${Fill} class="kept" part=${total ? step.after / total : 0} />
      ${step.removed > 0 && html`<${Fill} class="gone" part=${step.removed / total} left=${step.after / total} />`}
    </span>
    <span class="removed">${step.removed ? html`<span class="only-read">removes </span>−${format.whole(step.removed)}` : html`<span aria-hidden="true">·</span><span class="only-read">removes none</span>`}</span>
    <span class="left"><span class="only-read">leaves </span>${format.whole(step.after)}</span>
    ${isOpen && html`<div class="more">
      ${step.reasons.length > 0 && html`<ul>${step.reasons.map((each) => html`<li><b>${format.whole(each.count)}</b> ${each.reason}</li>`)}</ul>`}
      ${step.hosts.length > 0 && html`<${Hosts} names=${step.hosts} of=${step.removed} hostName=${hostName} noun=${noun} />`}
      ${link && html`<a href=${link}>Show all hosts of which this is true now</a>`}
    </div>`}
  </li>`;
}

/** Let the name of a filter break between its words where there is little room. */
const breakable = (name) => name.split(/(?<=[a-z])(?=[A-Z])/).map((part, at) => html`${at > 0 && html`<wbr />`}${part}`);

/** The hosts behind a step: all, or a sample that is spread over all of them. */
function Hosts({ names, of, hostName, noun }) {
  const others = of - names.length;
  return html`<p class="hosts"><span class="soft">${others > 0 ? "Such as" : `${format.count(of, noun)}:`}</span>
    ${" "}${names.map((name, at) => html`${at > 0 && ", "}${hostName(name)}`)}${others > 0 && html`<span class="soft"> and ${format.count(others, "other")}</span>`}</p>`;
}
