"""Options of [placement]: the REST API, allocation candidates, claim batches and pruning."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "placement": [
        cfg.HostAddressOpt(
            "rest_bind_host", default="127.0.0.1",
            help="Address on which the Placement REST API listens.",
        ),
        cfg.PortOpt(
            "rest_bind_port", default=8778,
            help="""
Port on which the Placement REST API listens. 0 lets the system choose a free port, for tests.
""",
        ),
        cfg.StrOpt(
            "rest_cert_file",
            help="""
PEM file with the certificate of the Placement REST API and any intermediate certificates. If set,
the API serves HTTPS only, TLS 1.2 or newer. Certificate, key and CA file are reloaded when they
change.
""",
        ),
        cfg.StrOpt(
            "rest_key_file",
            help=(
                "PEM file with the private key of rest_cert_file. Unset: the key is in that file."
            ),
        ),
        cfg.StrOpt(
            "rest_ca_file",
            help="""
PEM file with the certificate authorities of clients. If set, a client must present a certificate
signed by one of them. Unset: clients need no certificate.
""",
        ),
        cfg.URIOpt(
            "rest_link_prefix",
            schemes=["http", "https"],
            help="""
Base URL, without the path of the API, of the header ``Location`` in responses, such as
``https://cloud.example.org``, for an API that clients reach by a name or through a proxy. Unset:
the local address at which the request arrived. The header ``Host`` of a request is never used.
""",
        ),
        cfg.IntOpt(
            "rest_threads", default=16, min=1, max=512,
            help=(
                "Maximum number of REST requests that one worker process handles at the same time."
            ),
        ),
        cfg.IntOpt(
            "rest_max_body_bytes", default=16_777_216, min=1024, max=268_435_456,
            help=(
                "Maximum size of a request body, in bytes. A larger one is rejected with "
                "status 413."
            ),
        ),
        cfg.IntOpt(
            "rest_max_query_bytes", default=32_768, min=1024, max=65_536,
            help="""
Maximum length of a query string, in bytes. A longer one is rejected with status 414.
""",
        ),
        cfg.IntOpt(
            "workers", min=0, max=512,
            help="""
Number of worker processes. Unset or 0: [DEFAULT] workers. Each keeps its own table of all
providers in memory, about 1 KiB per provider.
""",
        ),
        cfg.BoolOpt(
            "randomize_allocation_candidates", default=False, mutable=True,
            help="""
Whether allocation candidates are returned in random order, so that a limited response is a random
sample. Otherwise they are in the order of the table, mostly the order in which the providers were
created, and a limit always takes the first ones.
""",
        ),
        cfg.IntOpt(
            "max_allocation_candidates", default=-1, min=-1, mutable=True,
            help="""
Maximum number of candidates generated for one request, whatever its limit; -1 means no limit.
Candidates are generated one by one and only as many as requested, so this bounds the work for
requests without a limit.
""",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy", default="depth-first", mutable=True,
            choices=[
                ("depth-first", "All candidates of one provider tree, then those of the next."),
                (
                    "breadth-first",
                    "One candidate of each tree in turn, so that a limited response "
                    "contains as many trees as possible.",
                ),
            ],
            help="""
Order in which candidates are generated. It determines which ones are left out by a limit or by
``max_allocation_candidates``.
""",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count", default=10, min=0,
            help="""
Accepted for compatibility with OpenStack Placement, which retries a write of allocations after
another writer changed the same provider. It has no effect here: writes of allocations are
serialised, so this conflict cannot occur.
""",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id", default="00000000-0000-0000-0000-000000000000",
            help="""
Project of consumers that were created without one, which microversions below 1.8 allow.
""",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id", default="00000000-0000-0000-0000-000000000000",
            help="""
User of consumers that were created without one, which microversions below 1.8 allow.
""",
        ),
        cfg.IntOpt(
            "claim_batch_size_max", default=5000, min=1, max=100_000,
            help="""
Maximum number of consumers that one call may claim for or release, and that concurrent calls may
share in one transaction. All other writers wait until it ends.
""",
        ),
        cfg.IntOpt(
            "claim_queue_size_max", default=1000, min=1, max=100_000,
            help="""
Maximum number of calls of a worker process that wait to write allocations; further calls are
rejected as unavailable.
""",
        ),
        cfg.IntOpt(
            "forget_after_seconds", default=86_400, min=3600, max=31_536_000,
            help="""
Seconds for which placement remembers that a consumer was released or a provider deleted. Until then
a late claim for such a consumer, from an abandoned attempt, is rejected.
""",
        ),
        cfg.IntOpt(
            "prune_interval_seconds", default=3600, min=0, max=86_400,
            help="Seconds between two runs of the task that prunes these records; 0 turns it off.",
        ),
    ]
}
