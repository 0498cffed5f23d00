"""[accelerators]: what stands behind the names of device profiles."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "accelerators": [
        cfg.MultiStrOpt(
            "device_profile",
            default=[],
            help="""
Accelerators that flavors may ask for by name, as ``accel:device_profile=NAME``: a JSON object of
``name`` and ``groups``, a list of objects such as ``{"resources:FPGA": "1",
"trait:CUSTOM_FPGA_FAST": "required"}``. Schedulers ask placement for one provider for each group;
keys that begin with ``accel:`` are left out. Give the option several times for several profiles.
With none at all, a profile asks for the trait ``COMPUTE_ACCELERATORS`` only; with some, a flavor
that names another one finds no host.
""",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["accelerators"], group="accelerators")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
