// The life of a server as a list, newest first: its operations with their steps, and its moves. Pure.
import * as format from "../format.js";

const DECIDED = new Set(["create", "resize", "migrate", "live-migration", "evacuate", "unshelve", "rebuild"]);

export function lifeOf({ server, actions, migrations }) {
  const events = actions.map((action) => operation(action, server));
  const moves = migrations.map(move);
  return [...events, ...moves].sort((one, other) => format.dateOf(other.at) - format.dateOf(one.at));
}

function operation(action, server) {
  const steps = action.events ?? [];
  const isOpen = isUnderWay(action, steps, server);
  const hasFailed = action.message === "Error"; // a step may fail without it: the next attempt follows
  const ended = format.dateOf(action.updated_at);
  const seconds = ended ? (ended - format.dateOf(action.start_time)) / 1000 : 0;
  return {
    at: action.start_time,
    what: format.words(action.action),
    state: hasFailed ? "failed" : isOpen ? "under way" : "done",
    tone: hasFailed ? "bad" : isOpen ? "busy" : "good",
    took: !isOpen && seconds > 0 ? format.duration(seconds) : "",
    detail: action.message && action.message !== "Error" ? action.message : "",
    requestId: DECIDED.has(action.action) ? action.request_id : null,
    steps: steps.map(stepText),
  };
}

/** An operation has ended when all its steps have; where it has none, or the last one failed, when it has changed since its start. */
function isUnderWay(action, steps, server) {
  if (action.message === "Error") return false;
  if (steps.some((step) => !step.finish_time)) return true;
  if (steps.length && steps.at(-1).result !== "Error") return false;
  return action.updated_at === action.start_time && Boolean(server["OS-EXT-STS:task_state"] || server.status === "BUILD");
}

const BUILD = "compute_build_instance";

/** A build is told by its attempt, another step by what an agent was asked to do. */
function stepText(step) {
  const attempt = step.event === BUILD && step["armillary:attempt"] ? `attempt ${step["armillary:attempt"]}` : step.event.replace(/^compute_/, "");
  const where = step.host ? ` on ${step.host}` : "";
  const outcome = step.result === "Error" ? `failed${step.details ? `: ${step.details}` : ""}` : step.finish_time ? "succeeded" : "is under way";
  return `${format.words(attempt)}${where} ${outcome}`;
}

function move(migration) {
  const isOver = ["completed", "confirmed", "reverted", "error", "failed", "cancelled", "done"].includes(migration.status);
  const hasFailed = ["error", "failed"].includes(migration.status);
  return {
    at: migration.created_at,
    what: `${format.words(migration.migration_type ?? "move")} from ${migration.source_compute ?? "?"} to ${migration.dest_compute ?? "?"}`,
    state: migration.status,
    tone: hasFailed ? "bad" : isOver ? "good" : "busy",
    took: "",
    detail: "",
    requestId: null,
    steps: [],
  };
}
