// The live event stream: server-sent events read with fetch, so that it works with the session's rules.
import * as api from "./api.js";
import { useEffect, useRef } from "./dom.js";

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
const CHANGE_MS = 500; // events within this time are one change
const SILENCE_MS_MAX = 35_000; // the service says something every 10 seconds
const FULL = 409; // as many clients follow events as the API process allows

/**
 * Follow events until `stop` is called. `onState` hears "live", "lost", "full" (no place for another client),
 * "brokerless" and "refused". A stream that broke goes on after the last event that was read; where the API has not
 * all that happened meanwhile, `onGap` is called: its owner loads again what it shows.
 */
export function follow(query, { onEvent, onState, onGap }) {
  let controller = null;
  let timer = null;
  let isStopped = false;
  let wait = RETRY_MS_MIN;
  let position = null;
  let hasBroker = true;

  const onNotice = ({ resumed, connected }) => {
    if (resumed === false || (connected && !hasBroker)) onGap?.();
    if (connected !== undefined) {
      hasBroker = connected;
      onState(connected ? "live" : "brokerless");
    }
  };
  const connect = async () => {
    controller = new AbortController();
    const silence = watchdog(controller);
    try {
      const answer = await api.open("/armillary/events", { ...query, after: position ?? undefined }, controller.signal);
      onState("live");
      wait = RETRY_MS_MIN;
      await read(answer.body, {
        onMessage: (kind, data) => { if (kind === "event") onEvent(data); else if (kind === "notice") onNotice(data); },
        onLife: silence.reset,
        onPosition: (id) => { position = id; },
      });
      if (!isStopped) onState("lost");
    } catch (error) {
      if (isStopped) return;
      if ([401, 403, 404].includes(error.status)) {
        onState("refused");
        return;
      }
      onState(error.status === FULL ? "full" : "lost");
    } finally {
      silence.end();
    }
    if (isStopped) return;
    timer = setTimeout(connect, wait);
    wait = Math.min(wait * 2, RETRY_MS_MAX);
  };

  connect();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    controller.abort();
  };
}

/** Call `onChange` soon after events that match a query, so that a view need not ask often; while it is visible. */
export function useChanges(query, isAllowed, onChange) {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (!isAllowed) return undefined;
    let timer = null;
    let stop = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        latest.current();
      }, CHANGE_MS);
    };
    const start = () => { stop ??= follow(query, { onEvent: soon, onState: () => {}, onGap: soon }); };
    const end = () => {
      stop?.();
      stop = null;
    };
    const turn = () => { // a page that is not seen takes no place of another client
      if (document.hidden) end();
      else {
        start();
        soon();
      }
    };
    document.addEventListener("visibilitychange", turn);
    if (!document.hidden) start();
    return () => {
      document.removeEventListener("visibilitychange", turn);
      clearTimeout(timer);
      end();
    };
  }, [JSON.stringify(query), isAllowed]);
}

/** Read a stream of server-sent events; every piece counts as a sign of life. */
async function read(body, { onMessage, onLife, onPosition }) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onLife();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const { kind, data, id } = parsed(block);
      if (data !== null) onMessage(kind, data);
      if (id !== null) onPosition(id);
    }
  }
}

function parsed(block) {
  let kind = "message";
  let id = null;
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line.startsWith("id: ")) id = line.slice(4);
  }
  return { kind, id, data: data.length ? JSON.parse(data.join("\n")) : null };
}

function watchdog(controller) {
  let timer = null;
  const end = () => clearTimeout(timer);
  const reset = () => {
    end();
    timer = setTimeout(() => controller.abort(), SILENCE_MS_MAX);
  };
  reset();
  return { reset, end };
}
