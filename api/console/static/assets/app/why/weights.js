// The weights of the selected host and of those behind it: one stacked bar a host, one colour a weigher.
import * as format from "../format.js";
import { html } from "../dom.js";
import { Fill } from "../parts.js";
import { rangeOf, weighersOf } from "./trace.js";

const COLOURS = 8;
const colour = (index) => `var(--series-${(index % COLOURS) + 1})`;
const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(3)}`;

/** `choice` is one of a trace's choices; `hostName` shows a host, or another `noun`, such as by a link. */
export function Weights({ choice, hostName = (name) => name, noun = "host" }) {
  const hosts = [choice, ...choice.runners_up];
  const { active, idle } = weighersOf(hosts);
  if (hosts.length === 1 && !active.length) return html`<p class="soft">Only ${choice.host ? hostName(choice.host) : `one ${noun}`} was left: there was nothing to compare it with.</p>`;
  if (!active.length) {
    return html`<p class="soft">All ${noun}s had the same weight: ${idle.length ? `${idle.join(", ")} saw no difference between them.` : "no weigher is enabled."}</p>`;
  }
  const range = rangeOf(hosts);
  const zero = -range.low / range.width;
  return html`<div class="weights">
    <ul class="legend">${active.map((name, index) => html`<li><${Swatch} index=${index} />${short(name)}</li>`)}</ul>
    <ol class="bars">
      ${hosts.map((host, place) => html`<li class=${place === 0 ? "winner" : ""}>
        <span class="name">${place === 0 ? html`<span class="place">selected</span>` : html`<span class="place">${place + 1}</span>`}${hostName(host.host)}</span>
        <span class="track" role="img" aria-label=${told(host, active, noun)}>
          <${Fill} class="zero" part=${0} left=${zero} />
          ${segments(host, active, range, zero).map((each) => html`<${Fill} class="segment" part=${each.part} left=${each.left} color=${colour(each.index)} />`)}
        </span>
        <span class="total">${host.weight.toFixed(3)}</span>
      </li>`)}
    </ol>
    ${idle.length > 0 && html`<p class="hint">Without effect here: ${idle.map(short).join(", ")}.</p>`}
    <details><summary>The numbers</summary>
      <div class="scroll" tabIndex="0" role="region" aria-label="Weights in numbers"><table>
        <thead><tr><th scope="col">Weigher</th>${hosts.map((host) => html`<th scope="col" class="number">${host.host ?? `a ${noun}`}</th>`)}</tr></thead>
        <tbody>
          ${active.map((name) => html`<tr><th scope="row">${name}</th>${hosts.map((host) => html`<td class="number">${signed(host.shares?.[name]?.weight ?? 0)}<br /><span class="hint">raw ${format.number(host.shares?.[name]?.raw ?? 0)}</span></td>`)}</tr>`)}
          <tr><th scope="row">Total</th>${hosts.map((host) => html`<td class="number"><b>${host.weight.toFixed(3)}</b></td>`)}</tr>
        </tbody>
      </table></div>
    </details>
  </div>`;
}

const short = (name) => name.replace(/Weigher$/, "");

function Swatch({ index }) {
  return html`<${Fill} class="swatch" part=${1} color=${colour(index)} />`;
}

function told(host, active, noun) {
  const parts = active.map((name) => `${short(name)} ${signed(host.shares?.[name]?.weight ?? 0)}`);
  return `${host.host ?? `a ${noun}`}: ${host.weight.toFixed(3)}, of ${parts.join(", ")}`;
}

/** Return where each weigher's part of a bar is: gains to the right of zero, losses to the left. */
function segments(host, active, range, zero) {
  let right = zero;
  let left = zero;
  return active.flatMap((name, index) => {
    const weight = host.shares?.[name]?.weight ?? 0;
    const part = Math.abs(weight) / range.width;
    if (!part) return [];
    if (weight > 0) {
      right += part;
      return [{ index, part, left: right - part }];
    }
    left -= part;
    return [{ index, part, left }];
  });
}
