// The NUMA cells of a host as a picture: each CPU, memory and page sizes, and the devices that are near.
import * as format from "../format.js";
import { html } from "../dom.js";
import { Meter } from "../parts.js";

const ORDINARY_PAGE_KB = 4;
const DEVICES_MAX = 32; // boxes of a pool; the text has the numbers

/** `pools` are the devices of one kind, at one NUMA cell: `count` of them are free, `reserved` are not. */
export function NumaPicture({ cells, pools }) {
  const known = new Set(cells.map((cell) => cell.id));
  const near = (id) => pools.filter((pool) => pool.numa_node === id);
  const rest = pools.filter((pool) => !known.has(pool.numa_node));
  return html`<div class="stack">
    ${cells.length > 0 && html`<div class="numa">${cells.map((cell) => html`<${Cell} cell=${cell} pools=${near(cell.id)} />`)}</div>`}
    ${rest.length > 0 && html`<div class="devices">${rest.map((pool) => html`<${Pool} pool=${pool} />`)}</div>`}
    <ul class="legend"><li><span class="cpus"><i></i></span>shared CPU</li><li><span class="cpus"><i class="dedicated"></i></span>for dedicated use, free</li><li><span class="cpus"><i class="pinned"></i></span>pinned by a server</li>
      ${pools.length > 0 && html`<li><span class="device free"></span>free device</li><li><span class="device"></span>reserved by a server</li>`}</ul>
  </div>`;
}

function Cell({ cell, pools }) {
  const shared = new Set(cell.cpus);
  const dedicated = new Set(cell.pcpus.filter((cpu) => !shared.has(cpu)));
  const pinned = new Set(cell.pinned);
  const cpus = [...new Set([...cell.cpus, ...cell.pcpus])].sort((one, other) => one - other);
  const hugePages = cell.pages.filter((pool) => pool.size_kb > ORDINARY_PAGE_KB);
  return html`<section class="numa-cell" aria-label=${`NUMA cell ${cell.id}`}>
    <h3><span>Cell ${cell.id}${cell.socket === null ? "" : `, socket ${cell.socket}`}</span><span class="hint">${format.count(cpus.length, "CPU")}, ${pinned.size} pinned, ${cell.cpus_used} vCPU placed</span></h3>
    <div class="cpus" role="img" aria-label=${`${format.count(cpus.length, "CPU")}, pinned: ${cell.pinned.join(", ") || "none"}`}>
      ${cpus.map((cpu) => html`<i class=${pinned.has(cpu) ? "pinned" : dedicated.has(cpu) ? "dedicated" : ""}>${cpu}</i>`)}</div>
    <div class="meter"><${Meter} name="MEMORY_MB" used=${cell.memory_mb_used} total=${cell.memory_mb} />
      ${hugePages.map((pool) => html`<${Meter} name="pages" label=${`${format.mebibytes(pool.size_kb / 1024)} pages`} used=${pool.used} total=${pool.total} />`)}</div>
    ${pools.length > 0 && html`<div class="devices">${pools.map((pool) => html`<${Pool} pool=${pool} />`)}</div>`}
  </section>`;
}

/** A pool as one box for each device, those that are reserved first. */
function Pool({ pool }) {
  const name = `${pool.vendor_id}:${pool.product_id}`;
  const total = pool.count + pool.reserved;
  const said = `${format.whole(pool.reserved)} of ${format.whole(total)} reserved`;
  return html`<span class="pool" role="img" aria-label=${`Devices ${name}: ${said}`}>
    ${Array.from({ length: Math.min(total, DEVICES_MAX) }, (_, at) => html`<span class="device ${at < pool.reserved ? "" : "free"}"></span>`)} <code>${name}</code> ${said}</span>`;
}
