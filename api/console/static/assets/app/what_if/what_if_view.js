// What if: a dry run as a form, with the same funnel as a decision that was taken, and "create it" from there.
import * as api from "../api.js";
import * as format from "../format.js";
import { html, useEffect, useRef, useState } from "../dom.js";
import { Confirm, Failure, Field, Loaded, Loading, Segments, Select, useLoaded } from "../parts.js";
import { address, go } from "../router.js";
import { useHostName } from "../host_link.js";
import { CREATE, DRY_RUN, useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { useToasts } from "../toasts.js";
import { Decision } from "../why/decision.js";
import { amountsOf, bodyOf, flavorOf, FREE_CLASSES } from "./request.js";

const CREATE_FLAVOR = ["os_compute_api:os-flavor-manage:create", "os_compute_api:os-flavor-extra-specs:create"];
const CHOOSE_HOST = "compute:servers:create:requested_destination";
const COUNT_MAX = 1000;

/** Return an answer, or `none` where the policy refuses it: a request need not choose of each list. */
const permitted = (answer, none) => answer.catch((error) => {
  if (error.status !== 403) throw error;
  return none;
});

/** A user who may not ask for dry runs has the form to create servers. */
export function WhatIf({ query }) {
  const mayAsk = useAllowed()(DRY_RUN);
  const choices = useLoaded(async (signal) => {
    const [flavors, images, zones] = await Promise.all([
      permitted(api.get("/flavors/detail", { limit: 1000 }, signal), { flavors: [] }),
      permitted(api.get("/images/detail", { limit: 1000 }, signal), { images: [] }),
      permitted(api.get("/os-availability-zone", {}, signal), { availabilityZoneInfo: [] }),
    ]);
    return {
      flavors: flavors.flavors, images: images.images,
      zones: zones.availabilityZoneInfo.map((zone) => zone.zoneName).sort(),
    };
  }, []);
  return html`
    ${mayAsk
      ? html`<${Head} title="What if" sub="Asks the scheduler where servers would go now, and why. Nothing is claimed or built." />`
      : html`<${Head} title="New server" sub="The scheduler selects a host for it." />`}
    <${Loaded} of=${choices}>${(data) => html`<${Form} data=${data} query=${query} mayAsk=${mayAsk} />`}<//>`;
}

function Form({ data, query, mayAsk }) {
  const mayChooseHost = useAllowed()(CHOOSE_HOST);
  const [asked, setAsked] = useState(() => startOf(query, data, mayAsk));
  const [outcome, setOutcome] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const lacksFlavor = asked.amounts === "flavor" && !asked.flavor;
  const change = (more) => {
    const changed = { ...asked, ...more };
    setAsked(changed);
    go("/what-if", queryOf(changed), { replace: true }); // what was filled in outlasts a session that ends, and a reload
  };
  const setAmounts = (amounts) => change(changedTo(amounts, asked, data));
  const set = (name) => (value) => change({ [name]: value?.target ? value.target.value : value });
  const run = async (event) => {
    event?.preventDefault();
    if (!mayAsk || isBusy || lacksFlavor) return; // a disabled button would lose the focus
    change({}); // the address then has the request
    setBusy(true);
    try {
      const answer = await api.post("/armillary/dry-run", bodyOf(asked));
      setOutcome({ ...answer.dry_run, asked });
    } catch (error) {
      setOutcome({ error });
    }
    setBusy(false);
  };
  // An address with a request is an answer to look at: it is asked immediately.
  useEffect(() => { if (query.flavor || query.amounts === "free") run(); }, []);
  return html`<div class="stack">
    <form class="card stack" onSubmit=${run} aria-label="The request">
      ${mayAsk && html`<div class="row"><${Segments} label="What is asked for" value=${asked.amounts} onChange=${setAmounts} options=${[["flavor", "A flavor"], ["free", "Free amounts"]]} /></div>`}
      <div class="form-grid">
        ${asked.amounts === "flavor"
          ? html`<${Field} label="Flavor" wide><${Select} value=${asked.flavor} onChange=${set("flavor")} required options=${data.flavors.map((each) => [each.id, format.flavor(each)])} /><//>
            <${Field} label="Image"><${Images} data=${data} value=${asked.image} onChange=${set("image")} /><//>`
          : FREE_CLASSES.map(([name, label]) => html`<${Field} label=${label}><input type="number" min="0" value=${asked[name]} onInput=${set(name)} /><//>`)}
        <${Field} label="Servers"><input type="number" min="1" max=${COUNT_MAX} value=${asked.count} onInput=${set("count")} /><//>
        <${Field} label="Availability zone"><${Select} value=${asked.zone} onChange=${set("zone")} options=${[["", "Any"], ...data.zones.map((zone) => [zone, zone])]} /><//>
        ${asked.amounts === "free" && html`
          <${Field} label="Required traits" wide hint="Separated by commas"><input value=${asked.required} onInput=${set("required")} placeholder="CUSTOM_SSD" /><//>
          <${Field} label="Forbidden traits" wide hint="Separated by commas"><input value=${asked.forbidden} onInput=${set("forbidden")} /><//>
          <${Field} label="Extra specs of a flavor" wide hint="name=value, separated by commas"><input value=${asked.extra} onInput=${set("extra")} placeholder="resources:VGPU=1, hw:cpu_policy=dedicated" /><//>
          <${Field} label="Image"><${Images} data=${data} value=${asked.image} onChange=${set("image")} none="Any" /><//>`}
        <${Field} label="Scheduler hints" wide hint="name=value, separated by commas"><input value=${asked.hints} onInput=${set("hints")} placeholder="group=…" /><//>
        ${mayChooseHost && asked.amounts === "flavor" && html`<${Field} label="Host" hint="Only this one"><input value=${asked.host} onInput=${set("host")} /><//>`}
      </div>
      ${(mayAsk || !data.flavors.length) && html`<div class="row">${mayAsk && html`<button class="button primary" aria-disabled=${String(isBusy || lacksFlavor)}>Ask the scheduler</button>`}
        ${!data.flavors.length && asked.amounts === "flavor" && html`<span class="hint">There are no flavors yet${mayAsk ? ": ask for free amounts" : ""}.</span>`}</div>`}
    </form>
    ${!mayAsk && asked.flavor && html`<div class="row"><${Create} asked=${asked} data=${data} /></div>`}
    <p class="only-read" role="status">${isBusy || !outcome?.trace ? "" : answerOf(outcome)}</p>
    ${isBusy && !outcome && html`<${Loading} what="The scheduler decides…" />`}
    ${outcome?.error && html`<${Failure} error=${outcome.error} retry=${run} />`}
    ${outcome?.trace && html`<${Outcome} outcome=${outcome} data=${data} />`}
  </div>`;
}

function Images({ data, value, onChange, none = null }) {
  const images = data.images.map((each) => [each.id, each.name]);
  return html`<${Select} value=${value} onChange=${onChange} options=${none ? [["", none], ...images] : images} />`;
}

/** Return what changes in the form with the kind of amounts: free ones begin with those of the flavor. */
function changedTo(amounts, asked, data) {
  if (amounts === asked.amounts) return {};
  const flavor = data.flavors.find((each) => each.id === asked.flavor);
  return amounts === "free" ? { amounts, ...(flavor ? amountsOf(flavor) : {}) } : { amounts, image: asked.image || firstImage(data) };
}

/** Return the image that the form begins with: one that is no server's snapshot, if there is one. */
const firstImage = ({ images }) => (images.find((image) => !image.server) ?? images[0])?.id ?? "";

function startOf(query, data, mayAsk) {
  return {
    flavor: query.flavor ?? data.flavors[0]?.id ?? "", image: query.image ?? (query.amounts === "free" ? "" : firstImage(data)),
    VCPU: "2", MEMORY_MB: "4096", DISK_GB: "20", count: "1", zone: "", hints: "", host: "", required: "", forbidden: "", extra: "", ...query,
    amounts: mayAsk && query.amounts === "free" ? "free" : "flavor",
  };
}

/** Return what is worth an address: the fields that were filled in. */
function queryOf(asked) {
  const free = asked.amounts === "free";
  const names = free ? ["amounts", "VCPU", "MEMORY_MB", "DISK_GB", "count", "zone", "required", "forbidden", "extra", "image", "hints"] : ["flavor", "image", "count", "zone", "hints", "host"];
  return Object.fromEntries(names.map((name) => [name, asked[name]]).filter(([name, value]) => value && !(name === "count" && value === "1")));
}

function Outcome({ outcome, data }) {
  const { hosts, trace } = outcome;
  const hostName = useHostName();
  const hostLink = useViewAllowed()("fleet") ? (query) => address("/fleet", query) : null;
  return html`<div class="stack">
    ${hosts.length
      ? html`<div class="note good sentence"><div class="grow"><p>${hosts.length === 1 ? html`It would go to <b>${hostName(hosts[0].host, { zone: hosts[0].zone })}</b>.` : `All ${format.count(hosts.length, "server")} would find a host.`}</p><p class="hint">Nothing was claimed: other requests may be faster.</p></div>
          <${Create} asked=${outcome.asked} data=${data} /></div>`
      : html`<div class="note bad sentence"><div class="grow"><p>No host fits.</p><p class="why">${trace.sentence ?? "The scheduler gave no reason."}</p></div></div>`}
    ${hosts.length > 0 && html`<${Places} hosts=${hosts} hostName=${hostName} />`}
    <${Decision} trace=${trace} hostLink=${hostLink} hostName=${hostName} key=${trace.request_id} />
  </div>`;
}

/** Return what a screen reader says when the answer is there; the whole of it would be much. */
function answerOf({ hosts, trace }) {
  if (!hosts.length) return `No host fits. ${trace.sentence ?? ""}`;
  return hosts.length === 1 ? `It would go to ${hosts[0].host ?? "a host"}.` : `All ${format.count(hosts.length, "server")} would find a host.`;
}

const PLACES_MAX = 20;

function Places({ hosts, hostName }) {
  return html`<section class="card flush" aria-labelledby="places-title"><h2 id="places-title">${hosts.length === 1 ? "Where it would go" : "Where they would go"}</h2>
    <div class="scroll" tabIndex="0" role="region" aria-label="Selected hosts and alternates"><table>
      <thead><tr><th scope="col">Server</th><th scope="col">Host</th><th scope="col">Zone</th><th scope="col">Alternates, if the build fails</th></tr></thead>
      <tbody>${hosts.slice(0, PLACES_MAX).map((each, index) => html`<tr><td>${index + 1}</td><th scope="row">${hostName(each.host, { zone: each.zone })}</th><td>${each.availability_zone ?? "–"}</td>
        <td>${each.alternates.length ? each.alternates.map((name, at) => html`${at > 0 && ", "}${hostName(name, { zone: each.alternate_zones[at] })}`) : "none"}</td></tr>`)}</tbody></table></div>
    ${hosts.length > PLACES_MAX && html`<p class="pager">and ${format.whole(hosts.length - PLACES_MAX)} more</p>`}</section>`;
}

/** Build what the form, or the dry run, asked for; for free amounts, make the flavor first. */
function Create({ asked, data }) {
  const isAllowed = useAllowed();
  const say = useToasts();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [image, setImage] = useState(asked.image || firstImage(data));
  const [flavorName, setFlavorName] = useState("");
  const made = useRef(null);
  const isFree = asked.amounts === "free";
  const mayAsk = isAllowed(DRY_RUN);
  if (!isAllowed(CREATE)) return null;
  if (isFree && !CREATE_FLAVOR.every(isAllowed)) return html`<span class="hint">To build it, ask for a flavor with these amounts.</span>`;
  const flavor = data.flavors.find((each) => each.id === asked.flavor);
  const count = Number(asked.count);
  const create = async (keys) => {
    made.current ??= isFree ? await makeFlavor(asked, flavorName.trim(), keys) : asked.flavor; // once, also when the server is refused
    const wanted = { ...asked, amounts: "flavor", flavor: made.current, image: isFree ? image : asked.image, host: isFree ? "" : asked.host };
    const { server } = await api.post("/servers", bodyOf(wanted, { name: name.trim() }), keys);
    say(`Accepted: ${name.trim()}`, "good");
    go(count > 1 ? "/servers" : `/servers/${server.id}`, count > 1 ? { name: name.trim() } : {});
  };
  return html`<button class="button primary" onClick=${() => setOpen(true)}>Create it…</button>
    ${isOpen && html`<${Confirm} title=${count > 1 ? `Create ${format.count(count, "server")}?` : "Create the server?"} action="Create" onClose=${() => setOpen(false)} onConfirm=${create}>
      <div class="stack"><p>${isFree ? "A new flavor with these amounts" : `Flavor ${flavor?.name}`}${asked.zone && `, zone ${asked.zone}`}.${mayAsk && " The scheduler decides again, with what is free then."}</p>
      ${isFree && html`<${Field} label="Name of the new flavor"><input required maxLength="255" value=${flavorName} disabled=${Boolean(made.current)} onInput=${(event) => setFlavorName(event.target.value)} /><//>
        <${Field} label="Image"><${Images} data=${data} value=${image} onChange=${setImage} /><//>`}
      <${Field} label="Name"><input required maxLength="255" value=${name} onInput=${(event) => setName(event.target.value)} /><//></div><//>`}`;
}

/** Make the flavor of free amounts with its traits, and return its id. */
async function makeFlavor(asked, name, keys) {
  const { flavor, extraSpecs } = flavorOf(asked, name);
  const made = await api.post("/flavors", { flavor }, keys);
  if (Object.keys(extraSpecs).length) await api.post(`/flavors/${made.flavor.id}/os-extra_specs`, { extra_specs: extraSpecs }, keys);
  return made.flavor.id;
}
