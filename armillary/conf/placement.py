"""[placement]: where placement's REST API listens, how it answers, how much it writes at once."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "placement": [
        cfg.HostAddressOpt(
            "rest_bind_host",
            default="127.0.0.1",
            help="Address on which the Placement REST API listens.",
        ),
        cfg.PortOpt(
            "rest_bind_port",
            default=8778,
            help="""
Port on which the Placement REST API listens; 0 lets the system choose one, for tests.
""",
        ),
        cfg.StrOpt(
            "rest_cert_file",
            help="""
PEM file with the certificate of the Placement REST API and those between it and its authority. With
it the API speaks HTTPS alone, TLS 1.2 or newer. The three files are read anew when they change.
""",
        ),
        cfg.StrOpt(
            "rest_key_file",
            help="PEM file with the private key of rest_cert_file; unset, it is in that file.",
        ),
        cfg.StrOpt(
            "rest_ca_file",
            help="""
PEM file with authorities of clients: only who shows a certificate signed by one of them is let in.
Unset, clients need no certificate.
""",
        ),
        cfg.IntOpt(
            "rest_threads",
            default=16,
            min=1,
            max=512,
            help="Requests that one worker process answers over REST at the same time.",
        ),
        cfg.IntOpt(
            "rest_max_body_bytes",
            default=16_777_216,
            min=1024,
            max=268_435_456,
            help="Largest body of a request, in bytes; a larger one is refused with status 413.",
        ),
        cfg.IntOpt(
            "rest_max_query_bytes",
            default=32_768,
            min=1024,
            max=65_536,
            help="""
Longest query string of a request, in bytes; a longer one is refused with status 414.
""",
        ),
        cfg.IntOpt(
            "workers",
            min=1,
            max=512,
            help="""
Number of worker processes. Unset, [DEFAULT] workers. Each keeps its own table of all providers in
memory, about 1 KiB a provider.
""",
        ),
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            mutable=True,
            help="""
Whether allocation candidates come in random order, so that a limited answer is a random sample.
Otherwise they come in the order of the table, mostly that in which the providers were made, and a
limit always takes the first.
""",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            min=-1,
            mutable=True,
            help="""
How many candidates are generated at most for one request, whatever its limit; -1 is without
bound. Candidates are generated one after the other and only as many as are asked for, so this
bounds the work for requests that set no limit.
""",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            mutable=True,
            choices=[
                (
                    "depth-first",
                    "All candidates of one tree of providers, then those of the next one.",
                ),
                (
                    "breadth-first",
                    "One candidate of each tree in turn, so that a bounded answer names as many "
                    "trees as it can.",
                ),
            ],
            help="""
In which order candidates are generated; it decides which ones are left out by a limit or by
``max_allocation_candidates``.
""",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count",
            default=10,
            min=0,
            help="""
Taken over from OpenStack Placement, where a write of allocations is tried again after another
writer changed the same provider. It has no effect here: all writers of allocations take turns, so
none of them finds such a change.
""",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default="00000000-0000-0000-0000-000000000000",
            help="""
Project of consumers that clients wrote without naming one, which microversions below 1.8 allow.
""",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id",
            default="00000000-0000-0000-0000-000000000000",
            help="""
User of consumers that clients wrote without naming one, which microversions below 1.8 allow.
""",
        ),
        cfg.IntOpt(
            "claim_batch_size_max",
            default=5000,
            min=1,
            max=100_000,
            help="""
Consumers that one call may claim for or release, and that calls which come at the same time may
have together in one transaction. All other writers wait until it ends.
""",
        ),
        cfg.IntOpt(
            "claim_queue_size_max",
            default=1000,
            min=1,
            max=100_000,
            help="""
Calls of a worker process that may wait for their turn to write allocations; more are refused as
unavailable.
""",
        ),
        cfg.IntOpt(
            "forget_after_seconds",
            default=86_400,
            min=3600,
            max=31_536_000,
            help="""
Seconds after which it is forgotten that a consumer was released or a provider deleted. Until then a
claim for such a consumer that comes late, from an attempt that was given up, is refused.
""",
        ),
        cfg.IntOpt(
            "prune_interval_seconds",
            default=3600,
            min=0,
            max=86_400,
            help="Seconds between two runs of the task that forgets; 0 turns it off.",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["placement"], group="placement")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
