"""Images with the data of a file, from the command line to the image service's directory."""

import io
import json
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from oslo_config import cfg

from api.front import make_front
from armillary.conf import api as api_conf
from armillary.conf import base as base_conf
from armillary.conf import console as console_conf
from armillary.conf import image as image_conf
from armillary.conf import register, serial_console
from armillary.conf import tracing as tracing_conf
from conductor.super_conductor.endpoints.catalogue import ImagesEndpoint
from conductor.super_conductor.interface import SuperConductorAPI
from programs.commands.app import TOKEN_VARIABLE, URL_VARIABLE, ClientApp
from tests.fixtures.control_plane import api_database  # noqa: F401 - a fixture
from tests.fixtures.programs.serving import serving

Run = Callable[..., tuple[int, str]]
QCOW2 = (b"QFI\xfb" + struct.pack(">IQIIQ", 3, 0, 0, 16, 1024**2)).ljust(512, b"\0") + b"x" * 512


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the directory of the image service."""
    return tmp_path / "images"


@pytest.fixture
def run(tmp_path: Path, store: Path, api_database: Any) -> Iterator[Run]:  # noqa: F811
    """Return a function that runs a command; it returns the exit code and what was printed."""
    conf = cfg.ConfigOpts()
    register(conf, base_conf, api_conf, console_conf, image_conf, serial_console, tracing_conf)
    path = tmp_path / "api.conf"
    path.write_text(
        f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n"
        f"[image]\nstore_path = {store}\nsize_bytes_max = 4096\n"
    )
    conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
    records = ImagesEndpoint(api_database, lambda: datetime.now(UTC).timestamp())
    front = make_front(conf, conductor=cast("SuperConductorAPI", records))
    with serving(front) as server:
        url = "http://{}:{}".format(*server.address)

        def command(*words: str) -> tuple[int, str]:
            out, err = io.StringIO(), io.StringIO()
            app = ClientApp(out, err, {URL_VARIABLE: url, TOKEN_VARIABLE: "alice:stars"})
            code = app.run(list(words))
            return code, out.getvalue() or err.getvalue()

        yield command


def named(run: Run) -> list[str]:
    code, said = run("image", "list", "-f", "json")
    assert code == 0, said
    return [image["Name"] for image in json.loads(said)]


@pytest.mark.parametrize(
    ("data", "options", "disk_format"),
    [
        (QCOW2, [], "qcow2"),
        (b"\0" * 2048, [], "raw"),
        (b"\0" * 2048, ["--disk-format", "iso"], "iso"),
    ],
    ids=["qcow2", "raw", "given"],
)
def test_a_file_becomes_an_images_data(
    data: bytes, options: list[str], disk_format: str, run: Run, tmp_path: Path, store: Path
) -> None:
    """With the format of the file unless one is given, and with its properties."""
    (path := tmp_path / "disk").write_bytes(data)
    code, said = run(
        "image", "create", "debian", "--file", str(path), *options, "--min-disk", "1",
        "--property", "hw_disk_bus=scsi", "-f", "json",
    )  # fmt: skip
    assert code == 0, said
    made = json.loads(said)
    assert (made["status"], made["disk_format"]) == ("ACTIVE", disk_format)
    assert made["properties"] == {"hw_disk_bus": "scsi"}
    assert (store / made["id"]).read_bytes() == data


def test_data_that_is_refused_leaves_no_image(run: Run, tmp_path: Path) -> None:
    (path := tmp_path / "disk").write_bytes(b"\0" * 8192)
    code, said = run("image", "create", "debian", "--file", str(path))
    assert code == 1
    assert "size_bytes_max" in said
    assert named(run) == []


@pytest.mark.parametrize(
    ("name", "properties", "reason"),
    [("missing", [], "No such file"), ("disk", ["--property", "min_ram=1"], "is a field")],
    ids=["file", "property"],
)
def test_bad_input_is_a_usage_error(
    name: str, properties: list[str], reason: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "disk").write_bytes(b"\0" * 512)
    code, said = run("image", "create", "debian", "--file", str(tmp_path / name), *properties)
    assert code == 2
    assert reason in said
    assert named(run) == []
