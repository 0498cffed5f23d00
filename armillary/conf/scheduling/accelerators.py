"""Options of [accelerators]: device profiles that flavors may request."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "accelerators": [
        cfg.MultiStrOpt(
            "device_profile", default=[],
            help="""
Accelerators that flavors may request by name, as ``accel:device_profile=NAME``. Each value is a
JSON object with ``name`` and ``groups``, a list of objects such as ``{"resources:FPGA": "1",
"trait:CUSTOM_FPGA_FAST": "required"}``. Schedulers ask placement for one provider per group; keys
that begin with ``accel:`` are ignored. Repeat the option for several profiles. If no profile is
configured, a flavor that names one requires only the trait ``COMPUTE_ACCELERATORS``. If any is, a
flavor that names an unknown profile finds no host.
""",
        )
    ]
}
