// The live event stream: server-sent events read with fetch, so that it works with the session's rules.
import * as api from "./api.js";
import { useEffect, useRef } from "./dom.js";

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
const CHANGE_MS = 500; // events within this time are one change
const SILENCE_MS_MAX = 35_000; // the service says something every 10 seconds

/**
 * Follow events until `stop` is called. `onState` hears "live" and "lost". After a loss `onGap` is called
 * once the stream is back: what happened between is not in it, so its owner loads again what it shows.
 */
export function follow(query, { onEvent, onState, onGap }) {
  let controller = null;
  let timer = null;
  let isStopped = false;
  let wait = RETRY_MS_MIN;
  let wasLive = false;

  const connect = async () => {
    controller = new AbortController();
    const silence = watchdog(controller);
    try {
      const answer = await api.open("/armillary/events", query, controller.signal);
      onState("live");
      if (wasLive) onGap?.();
      wasLive = true;
      wait = RETRY_MS_MIN;
      await read(answer.body, (kind, data) => kind === "event" && onEvent(data), silence.reset);
    } catch (error) {
      if (error.status === 401 || error.status === 403 || error.status === 404) {
        if (!isStopped) onState("refused");
        return;
      }
    } finally {
      silence.end();
    }
    if (isStopped) return;
    onState("lost");
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

/** Call `onChange` soon after events that match a query, so that a view need not ask often. */
export function useChanges(query, isAllowed, onChange) {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (!isAllowed) return undefined;
    let timer = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        latest.current();
      }, CHANGE_MS);
    };
    const stop = follow(query, { onEvent: soon, onState: () => {}, onGap: soon });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [JSON.stringify(query), isAllowed]);
}

/** Read a stream of server-sent events; every piece counts as a sign of life. */
export async function read(body, onMessage, onLife = () => {}) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onLife();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const message = parsed(block);
      if (message) onMessage(message.kind, message.data);
    }
  }
}

function parsed(block) {
  let kind = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return data.length ? { kind, data: JSON.parse(data.join("\n")) } : null;
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
