// The pace of what an open page asks by itself: all its views' repeated requests share one allowance of the services' time.
const PART = 0.008; // of the time, in which services may work for a page that stays open
const RESERVE_MS = 150; // kept for what events announce, which is asked for sooner than what is asked again
const ALLOWANCE_MS_MAX = 250;
export const PAUSE_MS_MAX = 30_000; // however costly a view is

let left = ALLOWANCE_MS_MAX;
let countedAt = performance.now();

function allowance() {
  const now = performance.now();
  left = Math.min(left + (now - countedAt) * PART, ALLOWANCE_MS_MAX);
  countedAt = now;
  return left;
}

/** Count the milliseconds that services took to answer what was asked again. */
export function spend(tookMs) {
  left = Math.max(allowance() - tookMs, RESERVE_MS - PAUSE_MS_MAX * PART);
}

/** Return for how many milliseconds nothing may be asked again, unless or although an event has announced something new. */
export const pause = (isAnnounced) => Math.max(0, ((isAnnounced ? 0 : RESERVE_MS) - allowance()) / PART);
