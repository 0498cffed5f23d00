"""[quota]: how much a project may have, unless a limit of its own was set for it."""

from __future__ import annotations

from oslo_config import cfg


def _limit(name: str, default: int, what: str) -> cfg.Opt:
    return cfg.IntOpt(name, default=default, min=-1, mutable=True, help=f"{what}; -1 is unlimited.")


OPTIONS: dict[str, list[cfg.Opt]] = {
    "quota": [
        _limit("instances", 10, "Servers that a project may have"),
        _limit("cores", 20, "vCPUs that a project's servers may have together"),
        _limit("ram", 51200, "Memory, in MiB, that a project's servers may have together"),
        _limit("server_groups", 10, "Server groups that a project may have"),
        _limit("server_group_members", 10, "Servers that one server group may have"),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["quota"], group="quota")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
