// Numbers with units, counts in singular and plural, times in the viewer's zone.
import * as clock from "./clock.js";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const TIME_OF_DAY = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const CLOCK = new Intl.DateTimeFormat(undefined, TIME_OF_DAY);
const DAY_AND_CLOCK = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", ...TIME_OF_DAY });
const OFFSET = new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset" });
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const KIB = 1024;
const KILO = 1000;
const BITS = ["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
const NAMES = {
  VCPU: "vCPU", PCPU: "Dedicated CPU", MEMORY_MB: "Memory", DISK_GB: "Disk", IPV4_ADDRESS: "IPv4 addresses",
  NET_BW_EGR_KILOBIT_PER_SEC: "Bandwidth out", NET_BW_IGR_KILOBIT_PER_SEC: "Bandwidth in",
};
const BANDWIDTH = "_KILOBIT_PER_SEC";

export const number = (value) => NUMBER.format(value);
export const whole = (value) => WHOLE.format(value);
/** Return a part in percent; only nothing is 0 %, and only all of it 100 %. */
export function percent(fraction) {
  if (fraction > 0 && fraction < 0.01) return "<1 %";
  return fraction > 0.99 && fraction < 1 ? ">99 %" : `${WHOLE.format(fraction * 100)} %`;
}


/** Return a count with its noun: 1 host, 2 hosts. */
export function count(value, noun, plural = `${noun}s`) {
  return `${WHOLE.format(value)} ${value === 1 ? noun : plural}`;
}

/** Return the name of an operation or a step as words. */
export function words(name) {
  const found = name.replaceAll("_", " ").replaceAll("-", " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return found[0].toUpperCase() + found.slice(1);
}

/** Return what people call a resource class. */
export function className(name) {
  if (NAMES[name]) return NAMES[name];
  const words = name.replace(/^CUSTOM_/, "").replaceAll("_", " ");
  return words.length <= 4 ? words : words[0] + words.slice(1).toLowerCase();
}

/** Return an amount of a resource class with its unit. */
export function amount(resourceClass, value) {
  if (resourceClass.endsWith("_MB")) return mebibytes(value);
  if (resourceClass.endsWith("_GB")) return gibibytes(value);
  if (resourceClass.endsWith(BANDWIDTH)) return kilobits(value);
  if (resourceClass === "VCPU") return `${NUMBER.format(value)} vCPU`;
  if (resourceClass === "PCPU") return count(value, "CPU");
  return NUMBER.format(value);
}

/** Return a flavor by its name and amounts. */
export const flavor = ({ name, vcpus, ram, disk }) => `${name}: ${vcpus} vCPU, ${mebibytes(ram)}, ${gibibytes(disk)}`;

/** Return used of total, with the unit once; a use that would be rounded to nothing has a unit of its own. */
export function amounts(resourceClass, used, total) {
  if (resourceClass.endsWith("_MB")) return ofTotal(used, total, scaleOf(total, ["MiB", "GiB", "TiB"]), mebibytes);
  if (resourceClass.endsWith("_GB")) return ofTotal(used, total, scaleOf(total, ["GiB", "TiB"]), gibibytes);
  if (resourceClass.endsWith(BANDWIDTH)) return ofTotal(used, total, scaleOf(total, BITS, KILO), kilobits);
  return ofTotal(used, total, { unit: { VCPU: "vCPU", PCPU: "CPUs" }[resourceClass] ?? "", divisor: 1 });
}

export const mebibytes = (value) => scaled(value, ["MiB", "GiB", "TiB", "PiB"]);
export const gibibytes = (value) => scaled(value, ["GiB", "TiB", "PiB"]);
const kilobits = (value) => scaled(value, BITS, KILO);

function scaled(value, units, base) {
  const { unit, divisor } = scaleOf(value, units, base);
  return `${NUMBER.format(value / divisor)} ${unit}`;
}

function scaleOf(value, units, base = KIB) {
  let power = 0;
  while (power < units.length - 1 && Math.abs(value) >= base ** (power + 1)) power += 1;
  return { unit: units[power], divisor: base ** power };
}

const SHOWN_MIN = 0.1; // with one digit behind the point

function ofTotal(used, total, { unit, divisor }, inOwnUnit = NUMBER.format) {
  if (used > 0 && used / divisor < SHOWN_MIN) return `${inOwnUnit(used)} of ${NUMBER.format(total / divisor)} ${unit}`.trim();
  return `${NUMBER.format(used / divisor)} of ${NUMBER.format(total / divisor)} ${unit}`.trim();
}

/** Return a Date for a time of the API, which is UTC also without a zone; null for none. */
export function dateOf(text) {
  if (!text) return null;
  const hasZone = /(?:Z|[+-]\d\d:?\d\d)$/.test(text);
  const date = new Date(hasZone ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

export const time = (text) => (dateOf(text) ? TIME.format(dateOf(text)) : "–");

/** Return a time with the viewer's zone, and its offset: when summer time ends, an hour comes twice. */
export function zonedTime(text) {
  const date = dateOf(text);
  return date ? `${TIME.format(date)} (${ZONE}, ${OFFSET.formatToParts(date).find((part) => part.type === "timeZoneName").value})` : "–";
}

/** Return the time of day, with the day unless that is today. */
export function timeOfDay(text) {
  const date = dateOf(text);
  if (!date) return "–";
  return (date.toDateString() === new Date(clock.now()).toDateString() ? CLOCK : DAY_AND_CLOCK).format(date);
}

/** Return how long it is until a time, in its largest unit. */
export function until(text) {
  const seconds = (dateOf(text) - clock.now()) / 1000;
  return seconds < 1 ? "now" : `in ${duration(seconds, 1)}`;
}

/** Return how long ago a time was, in its largest unit. */
export function ago(text) {
  const date = dateOf(text);
  if (!date) return "never";
  const seconds = Math.max(0, (clock.now() - date) / 1000);
  return seconds < 1 ? "just now" : `${duration(seconds, 1)} ago`;
}

/** Return seconds as a duration in its largest units, two of them at most unless told otherwise. */
export function duration(seconds, unitsMax = 2) {
  if (seconds < 1) return seconds > 0 ? `${WHOLE.format(seconds * 1000)} ms` : "0 s";
  if (seconds < 60) return `${NUMBER.format(seconds < 10 ? seconds : Math.floor(seconds))} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  let left = Math.floor(seconds);
  const said = [];
  for (const [unit, size] of parts) {
    const value = Math.floor(left / size);
    left -= value * size;
    if (value && said.length < unitsMax) said.push(`${value} ${unit}`);
    else if (said.length) break;
  }
  return said.join(" ");
}

export const milliseconds = (value) => (value < 1000 ? `${NUMBER.format(value)} ms` : duration(value / 1000));
