// The last minutes of the figures, as far as this page has seen them. Pure.

const SAMPLES_MAX = 180;
const SECONDS_MAX = 15 * 60; // older samples are left out
const GAP_SECONDS = 60; // without a sample, over which no line is drawn

export class History {
  constructor() {
    this.times = [];
    this._values = new Map();
  }

  /** Add the figures of a moment, given as a time of the API. */
  add(at, totals) {
    const seconds = Date.parse(at) / 1000;
    const last = this.times.at(-1);
    if (last >= seconds) return;
    if (seconds - last > GAP_SECONDS) this._push(last + 1, {});
    this._push(seconds, totals);
    while (this.times.length > SAMPLES_MAX || this.times[0] < seconds - SECONDS_MAX) {
      this.times.shift();
      for (const values of this._values.values()) values.shift();
    }
  }

  _push(seconds, totals) {
    this.times.push(seconds);
    for (const name of Object.keys(totals)) {
      if (!this._values.has(name)) this._values.set(name, Array(this.times.length - 1).fill(null));
    }
    for (const [name, values] of this._values) values.push(totals[name] ?? null);
  }

  has(name) {
    return this._values.has(name);
  }

  values(name) {
    return this._values.get(name) ?? [];
  }
}
