// The request of the form as the body of a dry run, or of a server that is created. Pure.

export const FREE_CLASSES = [["VCPU", "vCPU"], ["MEMORY_MB", "Memory (MiB)"], ["DISK_GB", "Disk (GiB)"]];

const listed = (text) => (text ?? "").split(",").map((each) => each.trim()).filter(Boolean);

/** Return {name: value} of "name=value, name=value"; a name that comes twice has a list. */
export function hintsOf(text) {
  const hints = {};
  for (const pair of listed(text ?? "")) {
    const [name, ...rest] = pair.split("=");
    const value = rest.join("=").trim();
    const key = name.trim();
    hints[key] = key in hints ? [hints[key], value].flat() : value;
  }
  return hints;
}

/** Return the body; `more` are fields of the server beside those of the form, such as its name. */
export function bodyOf(asked, more = {}) {
  return asked.amounts === "free" ? specOf(asked) : serverOf(asked, more);
}

function serverOf(asked, more) {
  const count = Number(asked.count) || 1;
  const hints = hintsOf(asked.hints);
  return {
    server: {
      ...more, flavorRef: asked.flavor, imageRef: asked.image || "", networks: "none",
      ...(count > 1 ? { min_count: count, max_count: count } : {}),
      ...(asked.zone ? { availability_zone: asked.zone } : {}),
      ...(asked.host ? { host: asked.host } : {}),
    },
    ...(Object.keys(hints).length ? { "os:scheduler_hints": hints } : {}),
  };
}

/** Return the body that makes a flavor of free amounts, and its extra specs. */
export function flavorOf(asked, name) {
  const flavor = { name, vcpus: Number(asked.VCPU) || 0, ram: Number(asked.MEMORY_MB) || 0, disk: Number(asked.DISK_GB) || 0 };
  return { flavor, extraSpecs: traitsOf(asked) };
}

function traitsOf(asked) {
  return Object.fromEntries([
    ...listed(asked.required).map((name) => [`trait:${name}`, "required"]),
    ...listed(asked.forbidden).map((name) => [`trait:${name}`, "forbidden"]),
  ]);
}

/** Free amounts are a flavor that exists only in this request. */
function specOf(asked) {
  return {
    request_spec: {
      num_instances: Number(asked.count) || 1,
      flavor: {
        vcpus: Number(asked.VCPU) || 0, memory_mb: Number(asked.MEMORY_MB) || 0, root_gb: Number(asked.DISK_GB) || 0,
        extra_specs: traitsOf(asked),
      },
      ...(asked.zone ? { availability_zone: asked.zone } : {}),
      scheduler_hints: hintsOf(asked.hints),
    },
  };
}
