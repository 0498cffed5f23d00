"""Options of [image]: the image service in the process of the HTTP API."""

from __future__ import annotations

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
            "transfers_per_project_max",
            default=2,
            min=1,
            max=500,
            help="""
Maximum number of uploads and downloads of one project at the same time in one process; others are
answered with status 503. Keep it below ``transfers_max``, so that no project keeps the others out.
""",
        ),
    ]
}
