"""Parsing of qemu-img's answers, given by a program in its place."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks import qemu_img
from compute_agent.virt.libvirt.disks.qemu_img import DiskError, UnsafeImage

Says = Callable[..., None]
IMAGE = Path("image.qcow2")


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Return a function that has a qemu-img of ours print something, and end with a code."""

    def say(text: str, code: int = 0) -> None:
        path = tmp_path / qemu_img.PROGRAM
        path.write_text(f"#!/bin/sh\necho '{text}' | tee /dev/stderr\nexit {code}\n")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return say


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Have a umask that withdraws nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_the_size_of_a_disk_is_not_that_of_its_file(says: Says) -> None:
    says(json.dumps({"virtual-size": 4096, "actual-size": 200}))
    assert qemu_img.virtual_size(IMAGE, "qcow2") == 4096


@pytest.mark.parametrize(
    "more",
    [
        {"backing-filename": "/etc/shadow"},
        {"format-specific": {"data": {"data-file": "/etc/shadow"}}},
    ],
    ids=["backing-file", "data-file"],
)
def test_an_image_that_names_other_files_is_refused(says: Says, more: dict[str, object]) -> None:
    """The guest would read them."""
    says(json.dumps({"virtual-size": 4096, **more}))
    with pytest.raises(UnsafeImage):
        qemu_img.virtual_size(IMAGE, "qcow2")


def test_what_it_complains_of_is_passed_on(says: Says) -> None:
    says("no space left", 1)
    with pytest.raises(DiskError, match="qemu-img create: no space left"):
        qemu_img.create(IMAGE, 4096)


@pytest.mark.parametrize("command", ["create", "convert", "copy"])
def test_a_disk_is_for_no_other_account_while_it_is_written(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_umask: None
) -> None:
    """Whatever the umask of the agent: drafts of snapshots lie where other accounts look in."""
    program = tmp_path / qemu_img.PROGRAM
    program.write_text('#!/bin/sh\nfor last; do :; done\ncd "$(dirname "$0")" && : > "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    written = tmp_path / ("4096" if command == "create" else "draft")
    match command:
        case "create":
            qemu_img.create(IMAGE, 4096)
        case "convert":
            qemu_img.convert(IMAGE, "qcow2", written)
        case "copy":
            qemu_img.copy(IMAGE, "qcow2", written, "qcow2")
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_it_may_not_be_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not qemu_img.is_installed()
    with pytest.raises(DiskError, match="not installed"):
        qemu_img.create(IMAGE, 4096)


def test_raw_disks_need_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "disk.raw"
    path.write_bytes(b"data")
    qemu_img.resize(path, "raw", 4096)
    assert qemu_img.disk_size(path, "raw") == qemu_img.virtual_size(path, "raw") == 4096


def test_a_disk_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match=r"disk\.raw: No such file"):
        qemu_img.disk_size(tmp_path / "disk.raw", "raw")


@pytest.mark.parametrize(
    "script",
    ["head -c 2000000000 /dev/zero | tail -c 1500000000", "yes '{'", "while :; do :; done"],
    ids=["memory", "output", "CPU"],
)
def test_an_image_that_makes_it_take_more_than_it_may_is_refused(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program ends, not the agent: its address space, CPU time and output have limits."""
    path = tmp_path / qemu_img.PROGRAM
    path.write_text(f"#!/bin/sh\nset -e\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(qemu_img, "_INFO_LIMITS", ("--as=100000000", "--cpu=1", "--fsize=65536"))
    with pytest.raises(DiskError, match="qemu-img info"):
        qemu_img.virtual_size(IMAGE, "qcow2")
