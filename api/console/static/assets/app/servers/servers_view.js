// The servers: a table whose pages, order and filters come from the API; newest first unless another order is asked for.
import * as format from "../format.js";
import { html, useEffect, useRef } from "../dom.js";
import { Ago, Badge, Empty, Field, Loaded, Select, ShortId, SortHead, useLoaded } from "../parts.js";
import { nextMarker, Pager, Typed, usePage } from "../listing.js";
import { address, go } from "../router.js";
import { HostLink } from "../host_link.js";
import { BY_HOST, CREATE, DRY_RUN, useAllowed, useViewAllowed } from "../session.js";
import { Head } from "../shell.js";
import { useToasts } from "../toasts.js";
import { ServerMenu } from "./server_menu.js";

const PAGE = 50;
const REFRESH_MS = 4000;
const STATUSES = [
  "ACTIVE", "BUILD", "ERROR", "SHUTOFF", "VERIFY_RESIZE", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED", "SHELVED_OFFLOADED",
  "RESIZE", "MIGRATING", "REBUILD", "REBOOT", "HARD_REBOOT", "SOFT_DELETED",
];
const ALL_PROJECTS = "os_compute_api:servers:detail:get_all_tenants";
const SEE_HOSTS = "os_compute_api:os-extended-server-attributes";
const NEWEST_FIRST = { key: "created_at", down: true };
/** Sort key of the API, if it sorts by what the column shows, title, and class of each column. */
const COLUMNS = [
  ["display_name", "Name"], ["uuid", "ID", "roomy"], ["vm_state", "Status"], ["host", "Host"], ["availability_zone", "Zone", "roomy"],
  [null, "Flavor", "roomy"], ["created_at", "Created"], ["project_id", "Project", "roomy"],
];
const DIRECTIONS = { asc: false, desc: true };

export function Servers({ query }) {
  const isAllowed = useAllowed();
  const seesAll = isAllowed(ALL_PROJECTS);
  const columns = columnsFor(isAllowed);
  const sort = sortOf(query, columns);
  const inQuery = {
    limit: PAGE, marker: query.marker, name: query.name, status: query.status, host: query.host,
    sort_key: sort.key, sort_dir: sort.down ? "desc" : "asc",
    ...(seesAll && query.all !== "no" ? { all_tenants: "1" } : {}),
  };
  const load = usePage("/servers", query, "server");
  const loaded = useLoaded((signal) => load("/servers/detail", inQuery, signal), [JSON.stringify(inQuery)], { every: REFRESH_MS });
  const order = ({ key, down }) => go("/servers", { ...query, marker: null, sort_key: key, sort_dir: down ? "desc" : "asc" });
  const change = (more) => go("/servers", { ...query, marker: null, ...more }, { replace: true });
  return html`
    <${Head} title="Servers">
      ${isAllowed(CREATE) && html`<a class="button primary" href=${address("/what-if")}>New server…</a>`}
    <//>
    <${Filters} query=${query} change=${change} seesAll=${seesAll} />
    <section class="card flush" aria-label="Servers">
      <${Loaded} of=${loaded}>${(data) => html`<${Table} data=${data} query=${query} columns=${columns} sort=${sort} order=${order} seesAll=${seesAll} reload=${loaded.reload} />`}<//>
    </section>`;
}

/** Return the columns that the policy allows; the one of hosts sorts for those who may ask by host. */
function columnsFor(isAllowed) {
  return COLUMNS.filter(([key]) => (key !== "host" || isAllowed(SEE_HOSTS)) && (key !== "project_id" || isAllowed(ALL_PROJECTS)))
    .map(([key, ...rest]) => [key === "host" && !isAllowed(BY_HOST) ? null : key, ...rest]);
}

/** Return the order that an address asks for, if there is such a column. */
function sortOf({ sort_key: key, sort_dir: direction }, columns) {
  const isKnown = key && columns.some(([name]) => name === key);
  return isKnown ? { key, down: DIRECTIONS[direction] ?? false } : NEWEST_FIRST;
}

function Filters({ query, change, seesAll }) {
  const mayAskByHost = useAllowed()(BY_HOST);
  return html`<form class="filters" role="search" aria-label="Filter servers" onSubmit=${(event) => event.preventDefault()}>
    <${Field} label="Name" wide><${Typed} value=${query.name ?? ""} placeholder="part of a name" onChange=${(name) => change({ name })} /><//>
    <${Field} label="Status"><${Select} value=${query.status ?? ""} onChange=${(status) => change({ status })} options=${[["", "Any status"], ...STATUSES.map((each) => [each, each])]} /><//>
    ${mayAskByHost && html`<${Field} label="Host" wide><${Typed} value=${query.host ?? ""} placeholder="name of a host" onChange=${(host) => change({ host })} /><//>`}
    ${seesAll && html`<${Field} label="Projects"><${Select} value=${query.all ?? ""} onChange=${(all) => change({ all })} options=${[["", "All projects"], ["no", "My project"]]} /><//>`}
  </form>`;
}

function Table({ data, query, columns, sort, order, seesAll, reload }) {
  const isAllowed = useAllowed();
  const say = useToasts();
  const { servers } = data;
  const hasFilter = query.name || query.status || query.host;
  if (!servers.length && !query.marker) {
    return html`<${Empty} title=${hasFilter ? "No server matches" : "There are no servers yet"}>
      ${hasFilter ? html`<button class="button quiet" onClick=${() => go("/servers")}>Clear the filters</button>` : isAllowed(DRY_RUN) && html`<p>Try one without building it: <a href=${address("/what-if")}>What if</a>.</p>`}<//>`;
  }
  return html`
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of servers"><table>
      <thead><tr>
        ${columns.map(([key, text, name]) => key
          ? html`<${SortHead} key=${key} name=${key} text=${text} class=${name} isDownFirst=${key === NEWEST_FIRST.key} sort=${sort} onSort=${order} />`
          : html`<th key=${text} scope="col" class=${name}>${text}</th>`)}
        <th scope="col"><span class="only-read">What to do</span></th>
      </tr></thead>
      <tbody>${servers.map((server) => html`<${Row} key=${server.id} server=${server} seesHosts=${isAllowed(SEE_HOSTS)} seesAll=${seesAll}
        onDone=${(text) => { say(text, "good"); reload(); }} />`)}</tbody>
    </table></div>
    <${Pager} path="/servers" query=${query} noun="server" count=${servers.length} next=${nextMarker(data.servers_links)} />`;
}

function Row({ server, seesHosts, seesAll, onDone }) {
  const isKnown = Boolean(server.flavor);
  const isExplained = useViewAllowed()("why");
  const own = useRef(null);
  useEffect(() => () => { // a row that goes, such as of a deleted server, leaves the focus to the view
    if (own.current.contains(document.activeElement)) document.getElementById("main").focus({ preventScroll: true });
  }, []);
  return html`<tr ref=${own}>
    <th scope="row" class="title"><a href=${address(`/servers/${server.id}`)} title=${server.name}>${server.name ?? server.id}</a></th>
    <td class="hint roomy"><${ShortId} id=${server.id} /></td>
    <td><${Badge} state=${server.status} />${server.status === "ERROR" && isExplained && html` <a class="small" href=${address(`/why/${server.id}`)}>Why?</a>`}</td>
    ${seesHosts && html`<td class="long"><${HostLink} name=${server["OS-EXT-SRV-ATTR:host"]} zone=${server["armillary:zone"]} /></td>`}
    <td class="roomy long">${server["OS-EXT-AZ:availability_zone"] || "–"}</td>
    <td class="roomy">${isKnown ? html`${server.flavor.original_name} <span class="hint nowrap">${server.flavor.vcpus} vCPU, ${format.mebibytes(server.flavor.ram)}</span>` : "–"}</td>
    <td class="nowrap"><${Ago} at=${server.created} /></td>
    ${seesAll && html`<td class="roomy">${server.tenant_id}</td>`}
    <td class="number"><${ServerMenu} server=${server} onDone=${onDone} /></td>
  </tr>`;
}
