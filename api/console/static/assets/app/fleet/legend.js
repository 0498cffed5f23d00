// What the colours and forms of the heat map mean.
import * as format from "../format.js";
import { html } from "../dom.js";
import { HEATS } from "./painter.js";

const STATES = [["full", "full", "M10 10h8v8h-8z"], ["draining", "draining", "M7 21 21 7"], ["disabled", "disabled", "M7 10.500h14M7 17.500h14"], ["down", "down", "M7 7 21 21M7 21 21 7"]];

/** State -> what it means. */
export const MEANINGS = {
  up: "up", full: "up, with no vCPU, memory or disk left", draining: "disabled, with servers that stay until they are moved or deleted",
  disabled: "disabled, without servers", down: "down: the heartbeat is missing",
};

export function Legend({ resourceClass }) {
  return html`<div class="legend map-legend">
    <span>${format.className(resourceClass)} used: none</span>
    <span class="scale" aria-hidden="true">${Array.from({ length: HEATS }, (_, heat) => html`<i class=${`heat-${heat}`}></i>`)}</span>
    <span>all</span>
    <span class="gap"></span>
    ${STATES.map(([state, text, path]) => html`<span class="state" title=${MEANINGS[state]}><svg viewBox="0 0 28 28" class=${`cell ${state}`} aria-hidden="true"><rect width="28" height="28" rx="2" /><path d=${path} /></svg>${text}</span>`)}
  </div>`;
}
