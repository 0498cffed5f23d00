"""Options of [image], the image service in the process of the HTTP API, and of [glance] instead.

[image_cache] is about what hosts fetch of either.
"""

from oslo_config import cfg

GIB = 1024**3

OPTIONS: dict[str, list[cfg.Opt]] = {
    "image": [
        cfg.StrOpt(
            "store_path",
            default="$state_path/images",
            help="""
Directory of the data of images, one file an image. Several API processes on different machines need
a shared file system here.
""",
        ),
        cfg.IntOpt(
            "size_bytes_max",
            default=64 * GIB,
            min=1,
            help="Maximum size of the data of one image, in bytes. A larger upload is rejected.",
        ),
        cfg.IntOpt(
            "store_bytes_max",
            default=512 * GIB,
            min=1,
            help="""
Maximum size of the data of all images, in bytes. An upload that would exceed it is rejected.
""",
        ),
        cfg.IntOpt(
            "images_per_project_max",
            default=1000,
            min=1,
            max=100000,
            help="Maximum number of images that one project may create with the image service.",
        ),
        cfg.IntOpt(
            "clean_interval_seconds",
            default=60,
            min=1,
            max=86400,
            help="""
Seconds between two scans of an API process for images to delete with their data, here or in Glance:
those of shelved servers that were unshelved or deleted. Users do not see them any more.
""",
        ),
        cfg.IntOpt(
            "transfers_max",
            default=4,
            min=1,
            max=500,
            help="""
Maximum number of uploads and downloads at the same time in one process; others are answered with
status 503. Keep it below ``[api] threads``: each occupies a thread.
""",
        ),
        cfg.IntOpt(
            "host_transfers_max",
            default=4,
            min=1,
            max=500,
            help="""
Maximum number of images that one process sends to hosts or receives from them at the same time,
besides ``transfers_max``; others are answered with status 503, and wait. Keep both together below
``[api] threads``.
""",
        ),
        cfg.URIOpt(
            "endpoint",
            schemes=["http", "https"],
            help="""
Address at which hosts reach the image service, such as ``https://api.example.org:8774/image``. They
fetch images from there that they do not have, and send snapshots there. Unset: hosts need the
directory ``store_path`` of the image service.
""",
        ),
        cfg.IntOpt(
            "ticket_lifetime_seconds",
            default=300,
            min=10,
            max=24 * 3600,
            mutable=True,
            help="""
How long a host may begin to transfer an image after it got leave to. It asks again for each
attempt; the clocks of conductors that share a database must differ by less.
""",
        ),
        cfg.StrOpt(
            "cafile",
            help="""
File with the certificate authorities that hosts trust for ``endpoint``, as PEM. Unset: those of
this machine.
""",
        ),
        cfg.IntOpt(
            "request_timeout_seconds",
            default=60,
            min=1,
            max=3600,
            help="""
How long a host waits for an answer of the image service, or for the next piece of data, before it
tries again.
""",
        ),
        cfg.IntOpt(
            "retry_seconds_max",
            default=300,
            min=0,
            max=24 * 3600,
            mutable=True,
            help="""
How long a host continues the transfer of an image that makes no progress, because the image
service or Glance is unreachable, busy or slow. Then a build goes to the next host, and a snapshot
fails.
""",
        ),
        cfg.IntOpt(
            "transfer_bytes_per_second_min",
            default=64 * 1024,
            min=0,
            max=1024**3,
            mutable=True,
            help="""
Minimum rate at which a host receives an image, over ``retry_seconds_max`` or a minute if that is
longer, in bytes per second. A slower transfer is given up: the build goes to the next host. 0: no
minimum.
""",
        ),
        cfg.IntOpt(
            "transfers_per_project_max",
            default=2,
            min=1,
            max=500,
            help="""
Maximum number of uploads and downloads of one project at the same time in one process; others are
answered with status 503. Keep it below ``transfers_max``, so that no project keeps the others out.
""",
        ),
    ],
    "glance": [
        cfg.StrOpt(
            "auth_type",
            choices=[
                ("password", "By username, password and project_name."),
                ("v3applicationcredential", "By an application credential."),
                ("none", "Without any login, at endpoint_override."),
            ],
            help="""
How to log in to Keystone for requests to Glance. Unset: images are kept by the HTTP API itself, as
[image] says. The account must see all projects' images, and change them to store snapshots.
""",
        ),
        cfg.StrOpt("auth_url", help="Address of Keystone, such as ``https://host:5000/v3``."),
        cfg.StrOpt("username", help="Name of the account."),
        cfg.StrOpt("password", secret=True, help="Password of the account."),
        cfg.StrOpt("project_name", help="Name of the account's project."),
        cfg.StrOpt(
            "user_domain_name", default="Default", help="Name of the domain of the account."
        ),
        cfg.StrOpt(
            "project_domain_name", default="Default", help="Name of the domain of its project."
        ),
        cfg.StrOpt("application_credential_id", help="Id of the application credential."),
        cfg.StrOpt(
            "application_credential_secret",
            secret=True,
            help="Secret of the application credential.",
        ),
        cfg.StrOpt(
            "endpoint_override",
            help="Address of Glance, such as ``https://host:9292``. Unset: that of the catalogue.",
        ),
        cfg.ListOpt(
            "valid_interfaces",
            default=["internal", "public"],
            help="Interfaces of the catalogue's endpoint, in order of preference.",
        ),
        cfg.StrOpt("region_name", help="Region of the catalogue's endpoint."),
        cfg.StrOpt(
            "cafile", help="File with the certificate authorities of Keystone and Glance, as PEM."
        ),
        cfg.IntOpt(
            "request_timeout_seconds",
            default=30,
            min=1,
            max=3600,
            help="How long a request may wait for an answer, or for the next piece of data.",
        ),
    ],
    "image_cache": [
        cfg.IntOpt(
            "size_mb_max",
            default=0,
            min=0,
            mutable=True,
            help="""
Maximum size of the images that a host has fetched, in MiB. Images that no guest uses are removed to
make room, those used least recently first; if that is not enough, a build goes to the next host.
0: no limit but the file system's.
""",
        ),
        cfg.BoolOpt(
            "remove_unused_base_images",
            default=True,
            mutable=True,
            help="""
Whether a host removes fetched images that no guest uses when they are old (image garbage
collection).
""",
        ),
        cfg.IntOpt(
            "remove_unused_original_minimum_age_seconds",
            default=24 * 3600,
            min=0,
            mutable=True,
            help="""
Seconds since an image was last used after which a host may remove it, if no disk of a guest refers
to it.
""",
        ),
        cfg.IntOpt(
            "manager_interval",
            default=2400,
            min=-1,
            max=7 * 24 * 3600,
            help="Seconds between two searches for old images. 0: the default; -1: never.",
        ),
        cfg.IntOpt(
            "report_images_max",
            default=64,
            min=0,
            max=1000,
            mutable=True,
            help="""
Maximum number of images that a host reports to the schedulers as present, for ImageCacheWeigher:
those used last. 0: none.
""",
        ),
        cfg.IntOpt(
            "precache_concurrency",
            default=1,
            min=1,
            max=1000,
            help="""
Maximum number of hosts that fetch images in advance (``openstack aggregate cache image``) at the
same time, for each conductor.
""",
        ),
        cfg.IntOpt(
            "precache_timeout_seconds",
            default=3600,
            min=1,
            max=7 * 24 * 3600,
            mutable=True,
            help="""
How long a conductor waits until a host has fetched what it was asked to, before it turns to the
next host. The host continues.
""",
        ),
    ],
}
