// What can be done with a server: each action with its policy rule, the states it applies to, and its question.
// Whether it is offered is decided here; whether it is allowed, by the API.
import * as api from "../api.js";

const RUNNING = ["ACTIVE"];
const ANY = null;

/** `body` is what the action sends; `undoes` says what is lost. `danger` marks what cannot be undone. */
export const ACTIONS = [
  { name: "Start", rule: "os_compute_api:servers:start", in: ["SHUTOFF"], body: { "os-start": null } },
  { name: "Stop", rule: "os_compute_api:servers:stop", in: ["ACTIVE", "ERROR"], body: { "os-stop": null }, says: "The workload ends. The server keeps its host and its resources." },
  { name: "Reboot", rule: "os_compute_api:servers:reboot", in: [...RUNNING, "SHUTOFF"], body: { reboot: { type: "SOFT" } }, says: "The workload is restarted on its host." },
  { name: "Migrate", rule: "os_compute_api:os-migrate-server:migrate", in: [...RUNNING, "SHUTOFF"], body: { migrate: null }, says: "The scheduler selects another host. The workload stops while it moves, and the move has to be confirmed." },
  { name: "Live-migrate", rule: "os_compute_api:os-migrate-server:migrate_live", in: [...RUNNING, "PAUSED"], body: { "os-migrateLive": { host: null, block_migration: "auto" } }, says: "The scheduler selects another host, and the workload moves while it runs. A paused one stays paused." },
  { name: "Confirm the move", rule: "os_compute_api:servers:confirm_resize", in: ["VERIFY_RESIZE"], body: { confirmResize: null }, says: "The server stays where it is now; its resources on the old host are released." },
  { name: "Revert the move", rule: "os_compute_api:servers:revert_resize", in: ["VERIFY_RESIZE"], body: { revertResize: null }, says: "The server goes back to its old host." },
  { name: "Evacuate", rule: "os_compute_api:os-evacuate", in: RUNNING.concat("SHUTOFF", "ERROR"), onlyWhenDown: true, body: { evacuate: {} }, says: "The server is built again on another host. Its host must really be down.", danger: true },
  { name: "Lock", rule: "os_compute_api:os-lock-server:lock", in: ANY, unless: (server) => server.locked, body: { lock: null }, says: "Its owner cannot change it until it is unlocked." },
  { name: "Unlock", rule: "os_compute_api:os-lock-server:unlock", in: ANY, unless: (server) => !server.locked, body: { unlock: null } },
  { name: "Delete", rule: "os_compute_api:servers:delete", in: ANY, remove: true, says: "The workload ends and its resources are released. This cannot be undone.", danger: true },
];

/** Return the actions that a server's state and the caller's policy allow. */
export function actionsFor(server, isAllowed) {
  return ACTIONS.filter((action) =>
    (action.in === ANY || action.in.includes(server.status)) && isAllowed(action.rule) && !action.unless?.(server)
    && (!server.locked || action.name === "Unlock") && (!action.onlyWhenDown || ["DOWN", "UNKNOWN"].includes(server.host_status)));
}

export function carryOut(action, server) {
  const path = `/servers/${server.id}`;
  return action.remove ? api.call("DELETE", path) : api.post(`${path}/action`, action.body);
}
