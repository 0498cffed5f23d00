// The hosts of the fleet as columns: loading them in pages, their use and state, filters and groups. No drawing.
import * as api from "../api.js";

export const PAGE_SIZE = 20_000;
export const BASIC_CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB"];
export const STATES = ["up", "draining", "disabled", "down"];
export const FULL = "full";

const CODES = Object.fromEntries(STATES.map((state, code) => [state, code]));

/**
 * Load all hosts; nothing new answers undefined. `known` has the pages of the last answer: only those that have changed
 * are sent again.
 */
export async function loadHosts(known, signal) {
  const pages = [];
  do {
    pages.push(await loadPage(known.pages[pages.length], pages.at(-1)?.document.next_marker, signal));
  } while (pages.at(-1).document.next_marker);
  const isNew = pages.length !== known.pages.length || pages.some((page, at) => page !== known.pages[at]);
  known.pages = pages;
  return isNew ? joined(pages.map((page) => page.document)) : undefined;
}

/** Return the known page if it has not changed, else the new one. */
async function loadPage(known, marker, signal) {
  const isSame = known && known.marker === marker;
  const etag = { value: isSame ? known.etag : null };
  const query = { limit: PAGE_SIZE, uuids: false, marker: marker ?? undefined }; // UUIDs would be most of the answer
  const document = await api.call("GET", "/armillary/fleet", { query, etag, signal });
  return document === undefined ? known : { marker, etag: etag.value, document };
}

/** Join pages of columns. Their names (of cells, zones, aggregates, traits) may differ by page: they are numbered anew. */
export function joined(pages) {
  const names = { cells: [], zones: [], aggregates: [], traits: [] };
  const numbers = { cells: new Map(), zones: new Map(), aggregates: new Map(), traits: new Map() };
  const known = [...new Set(pages.flatMap((page) => Object.keys(page.hosts.capacity)))].sort(byClass);
  const classes = known.length ? known : BASIC_CLASSES.slice(0, 1); // hosts come before their inventories
  const columns = { name: [], state: [], servers: [], cell: [], zone: [], aggregates: [], traits: [] };
  const capacity = Object.fromEntries(classes.map((each) => [each, []]));
  const used = Object.fromEntries(classes.map((each) => [each, []]));
  for (const page of pages) {
    const { hosts } = page;
    const number = (kind, list) => list.map((each) => numberOf(kind, each, names, numbers));
    const cells = number("cells", page.names.cells);
    const zones = number("zones", page.names.zones);
    const aggregates = number("aggregates", page.names.aggregates);
    const traits = number("traits", page.traits.names);
    push(columns.name, hosts.name);
    push(columns.state, hosts.state.map((state) => CODES[state] ?? 0));
    push(columns.servers, hosts.servers);
    push(columns.cell, hosts.cell.map((each) => cells[each] ?? -1));
    push(columns.zone, hosts.zone.map((each) => zones[each] ?? -1));
    push(columns.aggregates, hosts.aggregates.map((each) => each.map((index) => aggregates[index])));
    const sets = page.traits.sets.map((set) => set.map((index) => traits[index]));
    push(columns.traits, page.traits.hosts.map((index) => sets[index] ?? []));
    for (const name of classes) {
      push(capacity[name], hosts.capacity[name] ?? hosts.name.map(() => null));
      push(used[name], hosts.used[name] ?? hosts.name.map(() => null));
    }
  }
  const hosts = { ...columns, count: columns.name.length, classes, capacity, used, names, epoch: pages[0].epoch };
  hosts.lowNames = hosts.name.map((name) => name.toLowerCase());
  hosts.full = hosts.name.map((_, row) => isFull(hosts, row));
  return hosts;
}

/** Order resource classes: CPUs, memory and disk first. */
export function byClass(one, other) {
  const place = (name) => (BASIC_CLASSES.includes(name) ? BASIC_CLASSES.indexOf(name) : BASIC_CLASSES.length);
  return place(one) - place(other) || one.localeCompare(other);
}

function numberOf(kind, value, names, numbers) {
  const key = kind === "aggregates" ? value.name : value;
  if (!numbers[kind].has(key)) numbers[kind].set(key, names[kind].push(value) - 1);
  return numbers[kind].get(key);
}

function push(column, values) {
  for (const value of values) column.push(value);
}

function isFull(hosts, row) {
  return BASIC_CLASSES.some((name) => isUsedUp(hosts, name, row));
}

const isUsedUp = (hosts, name, row) => hosts.capacity[name]?.[row] > 0 && hosts.used[name][row] >= hosts.capacity[name][row];

/** Return the basic classes of which a host has nothing left. */
export const usedUp = (hosts, row) => BASIC_CLASSES.filter((name) => isUsedUp(hosts, name, row));

/** Return how much of a class a host has used, 0 to 1 (or more); -1 if it has none of it. */
export function useOf(hosts, resourceClass, row) {
  const capacity = hosts.capacity[resourceClass]?.[row];
  return capacity > 0 ? hosts.used[resourceClass][row] / capacity : -1;
}

export const freeOf = (hosts, resourceClass, row) => (hosts.capacity[resourceClass]?.[row] ?? 0) - (hosts.used[resourceClass]?.[row] ?? 0);

/** Return the state of a host: up, full (up, and some basic class is used up), draining, disabled or down. */
export const stateOf = (hosts, row) => (hosts.full[row] && hosts.state[row] === 0 ? FULL : STATES[hosts.state[row]]);

/** Return the rows that match a filter: `q`, `state`, `trait`, `without`, `aggregate`, `lack` (CLASS:AMOUNT). */
export function matching(hosts, filter) {
  const tests = testsOf(hosts, filter);
  const rows = [];
  for (let row = 0; row < hosts.count; row += 1) {
    if (tests.every((test) => test(row))) rows.push(row);
  }
  return rows;
}

function testsOf(hosts, { q, state, trait, without, aggregate, lack }) {
  const tests = [];
  if (q) tests.push(nameTest(hosts, q.trim().toLowerCase()));
  if (state === FULL) tests.push((row) => stateOf(hosts, row) === FULL);
  else if (state) tests.push((row) => hosts.state[row] === CODES[state]);
  if (trait) tests.push(traitTest(hosts, trait));
  if (without) {
    const has = traitTest(hosts, without);
    tests.push((row) => !has(row));
  }
  if (aggregate) {
    const index = hosts.names.aggregates.findIndex((each) => each.name === aggregate);
    tests.push((row) => hosts.aggregates[row].includes(index));
  }
  if (lack) {
    const [name, asked] = lack.split(":");
    tests.push((row) => freeOf(hosts, name, row) < Number(asked));
  }
  return tests;
}

/** A name with * or ? is a pattern of the whole name, another one a part of it. */
function nameTest(hosts, text) {
  if (!/[*?]/.test(text)) return (row) => hosts.lowNames[row].includes(text);
  const escaped = text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  const pattern = new RegExp(`^${escaped}$`);
  return (row) => pattern.test(hosts.lowNames[row]);
}

function traitTest(hosts, trait) {
  const wanted = hosts.names.traits.indexOf(trait);
  return (row) => hosts.traits[row].includes(wanted);
}

/** Return the ways to group: zone, cell, aggregate, and each metadata key of aggregates. */
export function groupings(hosts) {
  const keys = new Set(hosts.names.aggregates.flatMap((each) => Object.keys(each.metadata)));
  keys.delete("availability_zone");
  return [
    ["zone", "Zone"], ["cell", "Cell"], ["aggregate", "Aggregate"],
    ...[...keys].sort().map((key) => [`key:${key}`, `Aggregate key ${key}`]), ["none", "No groups"],
  ];
}

/** Return [{name, rows}] sorted by name; a host in several aggregates is in the group of the first that says something. */
export function grouped(hosts, rows, by) {
  const groups = new Map();
  const nameOf = groupName(hosts, by);
  for (const row of rows) {
    const name = nameOf(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  return [...groups].map(([name, members]) => ({ name, rows: members }))
    .sort((one, other) => one.name.localeCompare(other.name, undefined, { numeric: true }));
}

function groupName(hosts, by) {
  const { cells, zones, aggregates } = hosts.names;
  if (by === "none") return () => "All hosts";
  if (by === "cell") return (row) => cells[hosts.cell[row]] ?? "no cell";
  if (by === "aggregate") return (row) => aggregates[hosts.aggregates[row][0]]?.name ?? "in no aggregate";
  if (by.startsWith("key:")) {
    const key = by.slice(4);
    const values = aggregates.map((each) => (Object.hasOwn(each.metadata, key) ? each.metadata[key] : undefined));
    return (row) => values[hosts.aggregates[row].find((index) => values[index] !== undefined)] ?? `no ${key}`;
  }
  return (row) => zones[hosts.zone[row]] ?? "no zone";
}
