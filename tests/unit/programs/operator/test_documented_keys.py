"""The commands of pages about keys, accounts and enrolment, typed in their order in one folder.

They need files alone; those of these pages that ask a deployment are in the tests of signed ones.
"""

import shlex
from pathlib import Path

import pytest

from rpc.signing import keys
from tests.integration.test_documented_sessions import NOT_PLAYED, Story, lines_of
from tests.unit.programs.operator.conftest import Run

PAGES = (
    "docs/operating/signing.md", "docs/operating/stolen-key.md", "docs/operating/zones.md",
    "docs/operating/broker-accounts.md",
)  # fmt: skip
"""In the order of a reader, who is robbed of keys that were enrolled before."""
PROGRAM = "armillary-manage"
KINDS = ("key", "broker")
NAMES = {"rotate": "sched-1", "revoke": "cell1-ctl"}
"""Command -> what stands for the word NAME: only a key that is still trusted can be replaced."""


def typed(line: str, folder: Path) -> list[str]:
    """Return the arguments of a line, with paths, names and keys of this folder's own."""
    words = shlex.split(line.partition("|")[0], comments=True)[1:]
    root = keys.load(folder / "root.key").public.text if "sign" in words else None
    own = {"NAME": NAMES.get(words[1], ""), "CELL_UUID": "6f1c2f0e-6a0e-4a53-9f5c-0d8f3b0c7a11"}
    own["BASE64"] = root or keys.create(folder / f"{len(list(folder.iterdir()))}.key").public.text
    return [own.get(word, word.replace("/var/lib/armillary", str(folder))) for word in words]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with the root keys of two zones."""
    made = tmp_path / "reader"
    made.mkdir()
    for zone in ("eu", "world"):
        keys.create(made / f"{zone}-root.key")
    monkeypatch.chdir(made)
    return made


def test_the_commands_about_keys_work_as_they_stand(run_manage: Run, folder: Path) -> None:
    """On the lists of the page before."""
    assert set(PAGES) <= NOT_PLAYED.keys()
    played = 0
    for page in PAGES:
        for line in lines_of(page, Story()):
            if line.startswith(tuple(f"{PROGRAM} {kind} " for kind in KINDS)):
                ended = run_manage(*typed(line, folder))
                assert ended.code == 0, f"{page}: {line}\n{ended.out}{ended.err}"
                played += 1
    assert played >= 20
    assert {"trust.json", "agents.json", "eu.json", "world.json"} <= {
        path.name for path in folder.iterdir()
    }
