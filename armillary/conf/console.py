"""Options of [console]: the web page of ``armillary-api``, its sessions and one-time links."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "console": [
        cfg.BoolOpt(
            "enabled", default=True,
            help="""
Serve the web console at the path ``/ui`` of the API. If off, the path does not exist, and cookies
of the console's sessions are not accepted.
""",
        ),
        cfg.StrOpt(
            "session_key_file", default="$state_path/console/session-keys",
            help="""
File with the keys that seal the cookies of sessions and the one-time links, made with mode 0600
when the first one is needed. Processes that share the file share sessions. A new first line, of at
least 32 characters, seals from then on; remove an old line to end its sessions.
""",
        ),
        cfg.StrOpt(
            "state_dir", default="$state_path/console",
            help="""
Directory with the one-time links that have not been opened yet (``links``) and the sessions that
were ended before their time (``ended.json``). A link can be opened at the processes that share it.
""",
        ),
        cfg.IntOpt(
            "session_lifetime_seconds", default=43200, min=60, max=604800,
            help="""
How long a session lasts at most, in seconds. It ends with its token if that expires earlier.
""",
        ),
        cfg.IntOpt(
            "link_lifetime_seconds", default=900, min=10, max=86400,
            help="How long a one-time link can be opened, in seconds.",
        ),
    ]
}
