// The request of the form as the body of a dry run, or of a server that is created. Pure.

export const FREE_CLASSES = [["VCPU", "vCPU"], ["MEMORY_MB", "Memory (MiB)"], ["DISK_GB", "Disk (GiB)"]];
const REQUIRED = "required";
const FORBIDDEN = "forbidden";
const TRAIT = "trait:";
const GROUP = "group"; // the hint that names a server group

const listed = (text) => (text ?? "").split(",").map((each) => each.trim()).filter(Boolean);

/**
 * Return {name: value} of "name=value, name=value"; a name that comes twice has a list. A value may have commas, such
 * as a query in JSON: a comma ends it where another name follows.
 */
export function pairsOf(text) {
  const pairs = { __proto__: null }; // a hint may have any name
  for (const pair of (text ?? "").split(/,(?=\s*[\w:.-]+\s*=)/).map((each) => each.trim()).filter(Boolean)) {
    const [name, ...rest] = pair.split("=");
    const value = rest.join("=").trim();
    const key = name.trim();
    pairs[key] = key in pairs ? [pairs[key], value].flat() : value;
  }
  return pairs;
}

/** Return the body; `more` are fields of the server beside those of the form, such as its name. */
export function bodyOf(asked, more = {}) {
  return asked.amounts === "free" ? specOf(asked) : serverOf(asked, more);
}

function serverOf(asked, more) {
  const count = Number(asked.count) || 1;
  const hints = pairsOf(asked.hints);
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
  return { flavor, extraSpecs: extraSpecsOf(asked) };
}

/** Return the free amounts, traits and extra specs that a flavor has, as the form has them. */
export function amountsOf({ vcpus, ram, disk, "OS-FLV-EXT-DATA:ephemeral": ephemeral = 0, extra_specs: specs = {} }) {
  const traits = (wish) => Object.keys(specs).filter((key) => key.startsWith(TRAIT) && specs[key] === wish).map((key) => key.slice(TRAIT.length));
  const others = Object.entries(specs).filter(([key]) => !key.startsWith(TRAIT));
  return {
    VCPU: String(vcpus), MEMORY_MB: String(ram), DISK_GB: String(disk + ephemeral),
    required: traits(REQUIRED).join(", "), forbidden: traits(FORBIDDEN).join(", "), extra: others.map(([key, value]) => `${key}=${value}`).join(", "),
  };
}

function extraSpecsOf(asked) {
  return {
    ...pairsOf(asked.extra),
    ...Object.fromEntries([
      ...listed(asked.required).map((name) => [`${TRAIT}${name}`, REQUIRED]),
      ...listed(asked.forbidden).map((name) => [`${TRAIT}${name}`, FORBIDDEN]),
    ]),
  };
}

/** Free amounts are a flavor that exists only in this request. */
function specOf(asked) {
  const { [GROUP]: group, ...hints } = pairsOf(asked.hints);
  return {
    request_spec: {
      num_instances: Number(asked.count) || 1,
      flavor: {
        vcpus: Number(asked.VCPU) || 0, memory_mb: Number(asked.MEMORY_MB) || 0, root_gb: Number(asked.DISK_GB) || 0,
        extra_specs: extraSpecsOf(asked),
      },
      ...(asked.image ? { image: asked.image } : {}),
      ...(asked.zone ? { availability_zone: asked.zone } : {}),
      ...(group ? { instance_group: group } : {}),
      scheduler_hints: hints,
    },
  };
}
