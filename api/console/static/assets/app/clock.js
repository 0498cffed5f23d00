// The time by the clock of the API, which has said how old things are: the viewer's own clock may be wrong.

const EXACT_MS = 2000; // the API tells whole seconds, some time after the answer was made

let aheadMs = 0;

/** Learn the API's time from the header Date of an answer. */
export function learn(date) {
  const ahead = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) > EXACT_MS ? ahead : 0;
}

export const now = () => Date.now() + aheadMs;
