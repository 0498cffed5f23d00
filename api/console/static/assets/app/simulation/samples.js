// The hosts of a simulation in the columns of the fleet, at one of the sampled times. Pure.
import { BASIC_CLASSES } from "../fleet/hosts.js";

const UP = 0;
const DOWN = 3; // as in the states of hosts.js

/** Return the columns that do not change. */
export function fleetOf(hosts) {
  const zones = [...new Set(hosts.shapes.map((shape) => shape.zone ?? "no zone"))];
  const cells = [...new Set(hosts.shapes.map((shape) => shape.cell))];
  const aggregates = Object.entries(hosts.aggregates).map(([name, metadata]) => ({ name, metadata }));
  const numbered = new Map(aggregates.map((each, index) => [each.name, index]));
  const column = (of) => hosts.shape.map((shape) => of(hosts.shapes[shape]));
  return {
    count: hosts.name.length, name: hosts.name, classes: hosts.classes, names: { zones, cells, aggregates },
    zone: column((shape) => zones.indexOf(shape.zone ?? "no zone")),
    cell: column((shape) => cells.indexOf(shape.cell)),
    aggregates: column((shape) => shape.aggregates.map((name) => numbered.get(name)).filter((index) => index !== undefined)),
    capacity: Object.fromEntries(hosts.classes.map((name) => [name, column((shape) => shape.capacity[name] ?? 0)])),
  };
}

/** Return the fleet as a run had it at one of its samples. */
export function fleetAt(fleet, samples, at) {
  const used = Object.fromEntries(fleet.classes.map((name) => [name, samples[name][at]]));
  const isFull = (row) => BASIC_CLASSES.some((name) => fleet.capacity[name]?.[row] > 0 && used[name][row] >= fleet.capacity[name][row]);
  return {
    ...fleet, used, servers: samples.instances[at],
    state: samples.up[at].map((isUp) => (isUp ? UP : DOWN)),
    full: fleet.name.map((_, row) => isFull(row)),
  };
}

/** Return the sample nearest to a time; undefined if there are none. */
export function nearest(samples, seconds) {
  const far = (each) => Math.abs(each.at_seconds - seconds);
  return samples.reduce((best, each) => (best === undefined || far(each) < far(best) ? each : best), undefined);
}
