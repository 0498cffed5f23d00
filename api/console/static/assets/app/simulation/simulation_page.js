// The page of a simulation: one or two policies side by side, with a slider over time.
import * as format from "../format.js";
import { html, render, useMemo } from "../dom.js";
import { Empty, Field, Note, Segments, Select } from "../parts.js";
import { grouped, groupings } from "../fleet/hosts.js";
import { HeatMap } from "../fleet/heat_map.js";
import { Legend } from "../fleet/legend.js";
import { Chart } from "../now/figure.js";
import { Decision } from "../why/decision.js";
import { useAddressed } from "./address.js";
import { fleetAt, fleetOf, nearest } from "./samples.js";

const COUNTS = [
  ["requested", "Servers requested"], ["accepted", "Accepted"], ["refused", "Refused: no host found"], ["failed", "Failed: no host could build it"],
  ["lost", "Lost with their hosts"], ["retries", "Builds retried on an alternate"], ["running", "Running at the end"],
];

function Page({ data }) {
  const fleet = useMemo(() => fleetOf(data.hosts), [data]);
  const times = data.runs[0].hosts.seconds;
  const [address, change] = useAddressed();
  const at = sampleAt(times, address.time);
  const resourceClass = fleet.classes.includes(address.class) ? address.class : fleet.classes[0];
  const by = groupings(fleet).some(([name]) => name === address.by) ? address.by : "zone";
  const part = address.zoom ? { at: address.at, zoom: address.zoom } : null;
  const rows = useMemo(() => fleet.name.map((_, row) => row), [fleet]);
  const groups = useMemo(() => grouped(fleet, rows, by), [fleet, by]);
  const { scenario } = data;
  return html`<header class="bar"><span class="brand"><span>Armillary simulation</span></span><div class="end">
      <span class="who">${scenario.file.split("/").at(-1)}, seed ${scenario.seed}</span>
      <button class="button small" onClick=${() => window.toggleTheme()}>Light or dark</button></div></header>
    <main class="simulation"><div class="head"><div class="titles"><h1>${scenario.title}</h1>
      <div class="sub">${format.count(fleet.count, "host")} over ${format.duration(scenario.duration_seconds)} of simulated time, under ${data.runs.map((run) => run.policy).join(" and ")}</div></div></div>
    <div class="stack">
      <section class="card flush" aria-label="Hosts over time">
        <div class="controls">
          <label class="field slider"><span>Time: ${format.duration(times[at])}</span>
            <input type="range" min="0" max=${times.length - 1} value=${at} onInput=${(event) => change({ time: String(times[event.target.value]) })} aria-valuetext=${format.duration(times[at])} /></label>
          <${Field} label="Colour by use of"><${Select} value=${resourceClass} onChange=${(name) => change({ class: name })} options=${fleet.classes.map((name) => [name, format.className(name)])} /><//>
          <${Field} label="Group by"><${Select} value=${by} onChange=${(name) => change({ by: name, at: null, zoom: null })} options=${groupings(fleet)} /><//>
        </div>
        <div class="policies">${data.runs.map((run) => html`<${Policy} key=${run.policy} run=${run} fleet=${fleet} at=${at} groups=${groups} resourceClass=${resourceClass} part=${part} change=${change} />`)}</div>
        <${Legend} resourceClass=${resourceClass} />
      </section>
      <div class="columns">
        <section class="card half" aria-labelledby="use-title"><h2 id="use-title">${format.className(resourceClass)} used</h2><${Lines} runs=${data.runs} name=${`used ${resourceClass}`} scale=${100} suffix=" %" /></section>
        <section class="card half" aria-labelledby="refused-title"><h2 id="refused-title">Servers refused so far</h2><${Lines} runs=${data.runs} name="refused" /></section>
        <section class="card half flush" aria-labelledby="compare-title"><h2 id="compare-title">${data.runs.length > 1 ? "The policies compared" : "In numbers"}</h2><${Comparison} data=${data} /></section>
        <section class="card half flush" aria-labelledby="refusals-title"><h2 id="refusals-title">Why servers were refused</h2><${Refusals} runs=${data.runs} /></section>
      </div>
      <${Decisions} runs=${data.runs} at=${times[at]} address=${address} change=${change} />
    </div></main>`;
}

/** Return the index of the sample that an address names by its second; the one in the middle unless it does. */
function sampleAt(times, second) {
  if (!second || Number.isNaN(Number(second))) return Math.floor((times.length - 1) / 2);
  const after = times.findIndex((each) => each >= Number(second));
  return after < 0 ? times.length - 1 : after;
}

function Policy({ run, fleet, at, groups, resourceClass, part, change }) {
  const hosts = useMemo(() => fleetAt(fleet, run.hosts, at), [fleet, run, at]);
  const now = useMemo(() => summary(hosts, resourceClass), [hosts, resourceClass]);
  return html`<div class="policy"><h2>${run.policy} <span class="hint">${format.percent(now.use)} of ${format.className(resourceClass)}, ${format.count(now.servers, "server")}, ${format.count(now.empty, "empty host")}${now.down ? `, ${now.down} down` : ""}</span></h2>
    <${HeatMap} hosts=${hosts} groups=${groups} resourceClass=${resourceClass} label=${`Hosts under ${run.policy}`}
      part=${part} onPart=${(now) => change({ at: now?.at, zoom: now?.zoom })}
      describe=${(row) => html`<b>${hosts.name[row]}</b><span>${hosts.state[row] ? "down" : "up"} · ${format.count(hosts.servers[row], "server")}</span>
        ${hosts.classes.filter((name) => hosts.capacity[name][row] > 0).map((name) => html`<span>${format.className(name)}: ${format.amounts(name, hosts.used[name][row], hosts.capacity[name][row])}</span>`)}`} /></div>`;
}

function summary(hosts, resourceClass) {
  let used = 0;
  let total = 0;
  let servers = 0;
  let empty = 0;
  let down = 0;
  for (let row = 0; row < hosts.count; row += 1) {
    used += hosts.used[resourceClass][row];
    total += hosts.capacity[resourceClass][row] ?? 0;
    servers += hosts.servers[row];
    if (hosts.state[row]) down += 1;
    else if (!hosts.servers[row]) empty += 1;
  }
  return { use: total ? used / total : 0, servers, empty, down };
}

function Lines({ runs, name, scale = 1, suffix = "" }) {
  const series = runs.map((run, index) => ({ label: run.policy, values: run.series[name].map((value) => value * scale), colour: index, dash: index ? [6, 4] : undefined }));
  return html`<${Chart} key=${name} big height=${200} times=${runs[0].series.seconds} series=${series} suffix=${suffix} label=${`${name}: ${series.map((each) => `${each.label} ends at ${format.number(each.values.at(-1))}${suffix}`).join(", ")}`} />`;
}

function Comparison({ data }) {
  const { runs } = data;
  const part = (value) => `${(value * 100).toFixed(1)} %`;
  const rows = [
    ...COUNTS.map(([name, title]) => [title, runs.map((run) => run.counts[name]), format.whole]),
    ...Object.keys(runs[0].utilisation).map((name) => [`${format.className(name)} used, mean`, runs.map((run) => run.utilisation[name].mean), part]),
    ...Object.keys(runs[0].measures).map((name) => [measureName(name), runs.map((run) => run.measures[name].mean), name.startsWith("fragmentation") ? part : (value) => value.toFixed(2)]),
    ["Decisions a second (real clock)", runs.map((run) => run.decisions.per_second), format.whole],
  ];
  return html`<div class="scroll" tabIndex="0" role="region" aria-label="Figures"><table><thead><tr><th scope="col">Figure</th>${runs.map((run) => html`<th scope="col" class="number">${run.policy}</th>`)}${runs.length > 1 && html`<th scope="col" class="number">Difference</th>`}</tr></thead>
    <tbody>${rows.map(([title, values, show]) => html`<tr><th scope="row">${title}</th>${values.map((value) => html`<td class="number">${show(value)}</td>`)}${values.length > 1 && html`<td class="number">${signed(values[1] - values[0], show)}</td>`}</tr>`)}</tbody></table></div>`;
}

const measureName = (name) => ({ "load variation": "Load variation", "load gini": "Load, Gini coefficient", empty_hosts: "Empty hosts, mean" })[name] ?? name.replace("fragmentation", "Fragmentation for");
const signed = (value, show) => (Math.abs(value) < 1e-9 ? "0" : `${value > 0 ? "+" : "−"}${show(Math.abs(value))}`);

function Refusals({ runs }) {
  if (runs.every((run) => !run.refusals.length)) return html`<${Empty} title="None was refused" />`;
  return html`<div class="scroll" tabIndex="0" role="region" aria-label="Refusals"><table><thead><tr><th scope="col">Policy</th><th scope="col" class="number">Servers</th><th scope="col">Ruled out by, and an example</th></tr></thead>
    <tbody>${runs.flatMap((run) => run.refusals.map((each) => html`<tr><td>${run.policy}</td><td class="number">${format.whole(each.count)}</td><td><b>${each.reason}</b><div class="hint">${each.example}</div></td></tr>`))}</tbody></table></div>`;
}

/** Decisions that were kept with their traces; the one shown is the nearest to the time of the slider. */
function Decisions({ runs, at, address, change }) {
  const policy = runs[Number(address.policy)] ? address.policy : "0";
  const usual = runs.some((run) => run.samples.refused?.length) ? "refused" : "placed";
  const outcome = ["placed", "refused"].includes(address.outcome) ? address.outcome : usual;
  const samples = runs[Number(policy)].samples[outcome] ?? [];
  const shown = nearest(samples, at);
  return html`<section class="stack" aria-labelledby="decisions-title"><div class="row"><h2 id="decisions-title">A decision near that time</h2>
      ${runs.length > 1 && html`<${Segments} label="Policy" value=${policy} onChange=${(name) => change({ policy: name })} options=${runs.map((run, index) => [String(index), run.policy])} />`}
      <${Segments} label="Outcome" value=${outcome} onChange=${(name) => change({ outcome: name })} options=${[["placed", "Placed"], ["refused", "Refused"]]} /></div>
    ${shown
      ? html`<${Note} tone=${outcome === "placed" ? "good" : "bad"}><b>Request ${format.whole(shown.request)}</b> for ${format.count(shown.count, "server")} of flavor ${shown.flavor}, after ${format.duration(shown.at_seconds)}.${shown.trace.sentence ? ` ${shown.trace.sentence}` : ""}<//>
        <${Decision} key=${`${policy} ${outcome} ${shown.request}`} trace=${shown.trace} />`
      : html`<div class="card"><${Empty} title=${`No ${outcome} decision was kept`} /></div>`}</section>`;
}

const data = JSON.parse(document.getElementById("simulation").textContent);
render(html`<${Page} data=${data} />`, Object.assign(document.getElementById("app"), { textContent: "" }));
