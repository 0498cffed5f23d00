// The hosts as a table: the same rows as the map, sorted, a page at a time.
import * as format from "../format.js";
import { html, useMemo } from "../dom.js";
import { Badge, Fill, PageBar, SortHead } from "../parts.js";
import { hostAddress } from "../router.js";
import { useViewAllowed } from "../session.js";
import { stateOf, useOf } from "./hosts.js";

const PAGE = 100;
const TONES = { full: "warn" };

/** Order and page are in the address: `query` has them, and `change` changes it. */
export function HostTable({ hosts, rows, resourceClass, query, change }) {
  const mayOpen = useViewAllowed()("hosts");
  const sort = { key: query.sort_key ?? "name", down: query.sort_dir === "desc" };
  const classes = [resourceClass, ...hosts.classes.filter((name) => name !== resourceClass)].slice(0, 3);
  const sorted = useMemo(() => sortedRows(hosts, rows, sort), [hosts, rows, sort.key, sort.down]);
  const pages = Math.max(1, Math.ceil(sorted.length / PAGE));
  const at = Math.min(Math.max(Math.floor(Number(query.page) || 1), 1), pages) - 1;
  const columns = [["name", "Host"], ["state", "State"], ["zone", "Zone"], ["servers", "Servers", true], ...classes.map((name) => [name, format.className(name), true])];
  return html`<section class="card flush" aria-label="Hosts">
    <div class="scroll" tabIndex="0" role="region" aria-label="Table of hosts"><table>
      <thead><tr>${columns.map(([key, text, isNumber]) => html`<${SortHead} key=${key} name=${key} text=${text} isNumber=${isNumber} isDownFirst=${isNumber} sort=${sort} onSort=${({ key, down }) => change({ sort_key: key, sort_dir: down ? "desc" : null })} />`)}</tr></thead>
      <tbody>${sorted.slice(at * PAGE, (at + 1) * PAGE).map((row) => html`<tr key=${row}>
        <th scope="row" class="long">${mayOpen ? html`<a href=${hostAddress(hosts.name[row])}>${hosts.name[row]}</a>` : hosts.name[row]}</th>
        <td><${Badge} state=${stateOf(hosts, row)} tone=${TONES[stateOf(hosts, row)]} /></td>
        <td class="long">${hosts.names.zones[hosts.zone[row]] ?? "–"}</td>
        <td class="number">${format.whole(hosts.servers[row])}</td>
        ${classes.map((name) => html`<td class="number">${useOf(hosts, name, row) < 0 ? "–" : html`${format.amounts(name, hosts.used[name][row], hosts.capacity[name][row])}<span class="mini" aria-hidden="true"><${Fill} part=${useOf(hosts, name, row)} /></span>`}</td>`)}
      </tr>`)}</tbody>
    </table></div>
    <${PageBar} buttons=${[["Previous", at > 0 && (() => change({ page: at }))], ["Next", at + 1 < pages && (() => change({ page: at + 2 }))]]}>
      ${format.whole(at * PAGE + 1)}–${format.whole(Math.min((at + 1) * PAGE, sorted.length))} of ${format.count(sorted.length, "host")}<//>
  </section>`;
}

function sortedRows(hosts, rows, { key, down }) {
  const value = valueOf(hosts, key);
  const sign = down ? -1 : 1;
  return [...rows].sort((one, other) => sign * compared(value(one), value(other)) || one - other);
}

function valueOf(hosts, key) {
  if (key === "name") return (row) => hosts.name[row];
  if (key === "state") return (row) => stateOf(hosts, row);
  if (key === "zone") return (row) => hosts.names.zones[hosts.zone[row]] ?? "";
  if (key === "servers") return (row) => hosts.servers[row];
  return (row) => useOf(hosts, key, row);
}

const COLLATOR = new Intl.Collator("en", { numeric: true });
const compared = (one, other) => (typeof one === "number" ? one - other : COLLATOR.compare(one, other));
