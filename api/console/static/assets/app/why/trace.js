// A decision trace as the steps of a funnel. Pure: the same for servers, claims, dry runs and simulations.
import * as format from "../format.js";

/** Rules that the scheduler names beside its filters -> what they are called. */
const RULES = {
  room: "Room beside the servers before", promised: "Claims on their way", cell: "Cell", enabled_cells: "Enabled cells",
  requested_host: "Requested host", requested_node: "Requested node", ignore_hosts: "Ignored hosts",
  force_hosts: "Forced host", force_nodes: "Forced node",
};

/** Return words about hosts as words about another `noun`. */
export const about = (words, noun) => words?.replace("host", noun);

/**
 * Return the steps from all hosts to those that were weighed. Each has `label`, `detail`, `before`, `removed`,
 * `after`, `reasons` ({reason, count}), `hosts`: names of some of those that were removed, and `now`: a query of
 * the fleet view that finds such hosts now. `noun` is what was chosen among.
 */
export function stepsOf(trace, noun) {
  const steps = [];
  let left = trace.hosts_total;
  const add = (label, removed, more = {}) => {
    steps.push({ label, detail: "", reasons: [], hosts: [], now: null, ...more, before: left, removed, after: left - removed });
    left -= removed;
  };
  for (const rule of trace.ruled_out) {
    const [label, count, more] = ruleStep(rule, noun);
    add(label, count, { ...more, hosts: rule.hosts ?? [] });
  }
  const cut = left - trace.candidates;
  if (cut > 0) add("Limit of candidates", cut, { detail: "cut off by max_placement_results" });
  if (trace.unknown) add("Known to the scheduler", trace.unknown, { detail: "not known to this scheduler (yet)" });
  for (const entry of trace.filters) {
    left = entry.before;
    add(about(RULES[entry.name], noun) ?? entry.name, entry.removed, { kind: "filter", reasons: entry.reasons, detail: mainReason(entry), hosts: entry.hosts ?? [] });
  }
  return { total: trace.hosts_total, candidates: trace.candidates, steps, weighed: Math.max(left, 0) };
}

function mainReason({ reasons }) {
  if (!reasons.length) return "";
  return reasons.length === 1 ? reasons[0].reason : `mostly: ${reasons[0].reason}`;
}

function ruleStep(rule, noun) {
  const { kind, name, count } = rule;
  switch (kind) {
    case "resource": {
      const asked = format.amount(name, rule.asked);
      if (rule.rule) {
        return [format.className(name), count, { kind, detail: `${asked} asked; limit of one request (${rule.rule}): ${format.amount(name, rule.best)}` }];
      }
      const free = format.amount(name, Math.max(rule.best, 0));
      return [format.className(name), count, { kind, detail: `${asked} asked, at most ${free} free on ${count === 1 ? "it" : "any of them"}`, now: { lack: `${name}:${rule.asked}` } }];
    }
    case "trait":
      return [name, count, { kind, detail: "trait missing", now: { without: name } }];
    case "member_of":
      return ["Aggregate", count, { kind, detail: `not in ${anyOf(name)}` }];
    case "forbidden_aggregate":
      return ["Forbidden aggregate", count, { kind, detail: `in ${name}` }];
    case "in_tree":
      return [about(RULES.requested_host, noun), count, { kind, detail: `not in the tree of ${name}` }];
    case "disabled":
      return disabled(count);
    case "forbidden_trait":
      return name === "COMPUTE_STATUS_DISABLED" ? disabled(count) : [`Without ${name}`, count, { kind, detail: "forbidden trait", now: { trait: name } }];
    case "forbidden_resource":
      return [format.className(name), count, { kind, detail: "too little of it, or not as requested" }];
    case "combination":
    case "group_policy":
      return ["All parts together", count, { kind, detail: `each part fits, not all together (${name})` }];
    case "pinned_cpus":
      return ["CPUs", count, { kind, detail: `neither dedicated nor pinned shared CPUs fit (${name})` }];
    case "request_filter":
      return ["Request filter", count, { kind, detail: name }];
    default:
      return [name, count, { kind, detail: kind.replaceAll("_", " ") }];
  }
}

/** Shorten a choice of many aggregates. */
function anyOf(names) {
  const all = names.split(" or ");
  return all.length > 3 ? `${all.slice(0, 2).join(", ")} or ${all.length - 2} others` : names;
}

function disabled(count) {
  return ["Enabled", count, { kind: "disabled", detail: count === 1 ? "is disabled" : "are disabled", now: { state: "disabled" } }];
}

/** Return the weighers with an effect on any of these hosts, the strongest first, and the others. */
export function weighersOf(hosts) {
  const reach = new Map();
  for (const host of hosts) {
    for (const [name, share] of Object.entries(host.shares ?? {})) {
      reach.set(name, Math.max(reach.get(name) ?? 0, Math.abs(share.weight)));
    }
  }
  const ordered = [...reach].sort((one, other) => other[1] - one[1]);
  return {
    active: ordered.filter(([, most]) => most > 0).map(([name]) => name),
    idle: ordered.filter(([, most]) => most === 0).map(([name]) => name),
  };
}

/** Return how far bars reach to the left and right of zero. */
export function rangeOf(hosts) {
  let low = 0;
  let high = 0;
  for (const host of hosts) {
    const weights = Object.values(host.shares ?? {}).map((share) => share.weight);
    low = Math.min(low, sum(weights.filter((weight) => weight < 0)));
    high = Math.max(high, sum(weights.filter((weight) => weight > 0)));
  }
  return { low, high, width: high - low || 1 };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
