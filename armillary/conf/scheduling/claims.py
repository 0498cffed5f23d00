"""Options of [claims]: claims on pools, such as storage, networks and licences."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "claims": [
        cfg.ListOpt(
            "weight_multipliers", default=[], mutable=True,
            help="""
Multipliers of the weighers of pools, as ``KIND.WEIGHER=NUMBER``, such as
``storage.FreeShareWeigher=-1.0``, which fills one storage pool before the next. The others have the
multiplier of their kind. Other items are ignored and logged.
""",
        ),
        cfg.IntOpt(
            "pool_claims_max", default=0, min=0, mutable=True,
            help="Maximum number of claims on one pool, for PoolClaimsFilter. 0 sets no limit.",
        ),
    ]
}
