// What can be done with a server: each action with its policy rule, the states it applies to, and its question.
// Whether it is offered is decided here; whether it is allowed, by the API.
import * as api from "../api.js";

const RULES = "os_compute_api";
const ON = ["ACTIVE"];
const SETTLED = ["ACTIVE", "SHUTOFF"];
const ANY = null;
const END_OF_LIVE = ["queued", "preparing", "running"]; // states in which a live migration can be aborted

/**
 * `body` is what the action sends; `says` what it does. `danger` marks what cannot be undone. `asks` names what the
 * question asks for: `flavor`. `on` is the migration that the action is about.
 */
export const ACTIONS = [
  { name: "Start", rule: "servers:start", in: ["SHUTOFF"], body: { "os-start": null }, says: "The workload starts on the host that it has." },
  { name: "Stop", rule: "servers:stop", in: ["ACTIVE", "ERROR"], body: { "os-stop": null }, says: "The workload ends. The server keeps its host and its resources." },
  { name: "Reboot", rule: "servers:reboot", in: ON, body: { reboot: { type: "SOFT" } }, says: "The workload is asked to restart on its host." },
  { name: "Hard reboot", rule: "servers:reboot", in: ["ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "ERROR"], body: { reboot: { type: "HARD" } }, says: "The workload is ended without being asked, and started again on its host." },
  { name: "Pause", rule: "os-pause-server:pause", in: ON, body: { pause: null }, says: "The workload stands still; it keeps its memory." },
  { name: "Unpause", rule: "os-pause-server:unpause", in: ["PAUSED"], body: { unpause: null }, says: "The workload goes on." },
  { name: "Suspend", rule: "os-suspend-server:suspend", in: ON, body: { suspend: null }, says: "The workload's memory is written to disk. The server keeps its host and its resources." },
  { name: "Resume", rule: "os-suspend-server:resume", in: ["SUSPENDED"], body: { resume: null }, says: "The workload goes on with the memory that it had." },
  { name: "Unrescue", rule: "os-unrescue", in: ["RESCUE"], body: { unrescue: null }, says: "The server starts from its own disk again." },
  { name: "Shelve", rule: "os-shelve:shelve", in: [...SETTLED, "PAUSED", "SUSPENDED"], body: { shelve: null }, says: "The workload ends and is kept as an image. After a while the server leaves its host, whose resources are released." },
  { name: "Offload", rule: "os-shelve:shelve_offload", in: ["SHELVED"], body: { shelveOffload: null }, says: "The server leaves its host now; the resources there are released." },
  { name: "Unshelve", rule: "os-shelve:unshelve", in: ["SHELVED", "SHELVED_OFFLOADED"], body: { unshelve: null }, says: "The server starts again. If it has left its host, the scheduler selects one." },
  { name: "Resize", rule: "servers:resize", in: SETTLED, asks: "flavor", body: (flavor) => ({ resize: { flavorRef: flavor } }), says: "The scheduler selects a host for the new flavor. The workload stops meanwhile, and the resize has to be confirmed." },
  { name: "Migrate", rule: "os-migrate-server:migrate", in: SETTLED, body: { migrate: null }, says: "The scheduler selects another host. The workload stops while it moves, and the move has to be confirmed." },
  { name: "Live-migrate", rule: "os-migrate-server:migrate_live", in: [...ON, "PAUSED"], body: { "os-migrateLive": { host: null, block_migration: "auto" } }, says: "The scheduler selects another host, and the workload moves while it runs. A paused one stays paused." },
  { name: "Abort the live migration", rule: "servers:migrations:delete", in: ANY, on: isAbortable, says: "The server stays on the host that it has." },
  { name: "Confirm the move", rule: "servers:confirm_resize", in: ["VERIFY_RESIZE"], body: { confirmResize: null }, says: "The server stays as and where it is now; its resources on the old host are released." },
  { name: "Revert the move", rule: "servers:revert_resize", in: ["VERIFY_RESIZE"], body: { revertResize: null }, says: "The server goes back to its old host and flavor." },
  { name: "Evacuate", rule: "os-evacuate", in: [...SETTLED, "ERROR"], onlyWhenDown: true, body: { evacuate: {} }, says: "The server is built again on another host. Its host must really be down.", danger: true },
  { name: "Lock", rule: "os-lock-server:lock", in: ANY, unless: (server) => server.locked, body: { lock: null }, says: "Its owner cannot change it until it is unlocked." },
  { name: "Unlock", rule: "os-lock-server:unlock", in: ANY, unless: (server) => !server.locked, body: { unlock: null }, says: "Its owner can change it again." },
  { name: "Restore", rule: "os-deferred-delete:restore", in: ["SOFT_DELETED"], body: { restore: null }, says: "The deleted server comes back as it was." },
  { name: "Delete now", rule: "os-deferred-delete:force", in: ["SOFT_DELETED"], body: { forceDelete: null }, says: "The server cannot be restored any more.", danger: true },
  { name: "Delete", rule: "servers:delete", in: ANY, unless: (server) => ["SOFT_DELETED", "DELETED"].includes(server.status), says: "The workload ends and its resources are released. This cannot be undone.", danger: true, removes: true },
];

function isAbortable(migration) {
  return migration.migration_type === "live-migration" && END_OF_LIVE.includes(migration.status);
}

/**
 * Return the actions that a server's state and the caller's policy allow. `hostState` is up, down, disabled or
 * draining where it is known; `migrations` are those of the server, where they are known.
 */
export function actionsFor(server, isAllowed, { hostState, migrations = [] } = {}) {
  return ACTIONS.filter((action) =>
    (action.in === ANY || action.in.includes(server.status)) && isAllowed(`${RULES}:${action.rule}`) && !action.unless?.(server)
    && (!server.locked || action.name === "Unlock") && (!action.onlyWhenDown || hostState === "down")
    && (!action.on || migrations.some(action.on)));
}

/** Send what an action asks for; `choice` is the answer to its question, `keys` those of the requests. */
export function carryOut(action, server, keys, { migrations = [], choice } = {}) {
  const path = `/servers/${server.id}`;
  if (action.removes) return api.call("DELETE", path);
  if (action.on) return api.call("DELETE", `${path}/migrations/${migrations.find(action.on).id}`);
  return api.post(`${path}/action`, typeof action.body === "function" ? action.body(choice) : action.body, keys);
}
