"""Options of [identity]: issued tokens and the service catalogue of the built-in identity."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "identity": [
        cfg.StrOpt(
            "state_dir",
            default="$state_path/identity",
            help="""
Directory with the keys that sign issued tokens (``keys``, made when the first token is issued) and
the revoked tokens (``revoked.json``). All processes that issue or accept tokens need it: those of
armillary-api and armillary-placement, on one machine or with a shared file system. A new first line
in ``keys``, of at least 32 characters, signs from then on; remove an old line to end its tokens.
""",
        ),
        cfg.IntOpt(
            "token_lifetime_seconds",
            default=14400,
            min=60,
            max=604800,
            help="How long an issued token is valid, in seconds.",
        ),
        cfg.StrOpt(
            "region", default="RegionOne", help="Name of the region in the service catalogue."
        ),
        cfg.DictOpt(
            "endpoints",
            default={},
            help="""
Service types and their URLs in the service catalogue, such as
``placement:https://cloud.example.org:8778,network:https://net.example.org:9696``. ``{project_id}``
in a URL is replaced by the id of the token's project. Without an entry, identity, compute and image
are at the address where the request arrived, or at ``[api] compute_link_prefix``, and placement
is at the same host on port 8778.
""",
        ),
    ]
}
