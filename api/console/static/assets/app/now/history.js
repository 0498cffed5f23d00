// The last minutes of the figures, as far as this page has seen them. Pure.

const SAMPLES_MAX = 180;

export class History {
  constructor() {
    this.times = [];
    this.last = null;
    this._values = new Map();
  }

  /** Add the figures of a moment, given as a time of the API. */
  add(at, totals) {
    const seconds = Date.parse(at) / 1000;
    if (this.times.at(-1) >= seconds) return;
    this.times.push(seconds);
    for (const name of Object.keys(totals)) {
      if (!this._values.has(name)) this._values.set(name, Array(this.times.length - 1).fill(null));
    }
    for (const [name, values] of this._values) values.push(totals[name] ?? null);
    if (this.times.length > SAMPLES_MAX) {
      this.times.shift();
      for (const values of this._values.values()) values.shift();
    }
    this.last = { seconds, totals };
  }

  has(name) {
    return this._values.has(name);
  }

  values(name) {
    return this._values.get(name) ?? [];
  }
}

/** Return the totals with a rate for each counter that has no rate of its own. A counter that fell was reset. */
export function ratesOf(totals, last, seconds = Date.now() / 1000) {
  const found = { ...totals };
  for (const [name, value] of Object.entries(totals)) {
    const rate = name.replace(/_total$/, "_per_second");
    if (rate === name || rate in totals) continue;
    const before = last?.totals[name];
    const elapsed = last ? seconds - last.seconds : 0;
    found[rate] = before === undefined || elapsed <= 0 ? 0 : Math.max(0, value - before) / elapsed;
  }
  return found;
}
