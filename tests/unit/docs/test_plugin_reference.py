"""The reference of plugins is made of their docstrings and of the options that these name."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools" / "plugin_reference.py"
    spec = importlib.util.spec_from_file_location("plugin_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(tool: ModuleType) -> str:
    text: str = tool.page()
    return text


@pytest.mark.parametrize(
    "heading",
    ["ComputeFilter", "RAMWeigher", "tenant", "filter_scheduler", "process", "cpu.virt_driver"],
)
def test_every_kind_of_plugin_is_there(page: str, heading: str) -> None:
    """Under the name that operators know."""
    assert f"\n### {heading}\n" in page


def test_every_plugin_says_what_it_does(tool: ModuleType) -> None:
    """In a docstring of its own: a base class's says nothing of it."""
    silent = [
        name
        for plugins in tool._plugins().values()
        for name, plugin in plugins.items()
        if not plugin.__doc__
    ]
    assert silent == []


def entry(page: str, heading: str) -> str:
    return page.split(f"\n### {heading}\n")[1].split("\n##")[0]


def test_an_entry_has_its_facts_and_options(page: str) -> None:
    """Whether it is enabled, how often it is asked, defaults and help."""
    assert "*Enabled by default; asked once a request.*" in entry(page, "ComputeFilter")
    assert "| `[filter_scheduler] max_instances_per_host` | `50` | " in entry(
        page, "NumInstancesFilter"
    )
    weigher = entry(page, "RAMWeigher")
    assert "overrides the multiplier: `ram_weight_multiplier`" in weigher
    assert "| `[filter_scheduler] ram_weight_multiplier` | `1.0` | " in weigher


def test_an_option_without_a_group_is_in_one_that_is_named(page: str) -> None:
    """Or in the plugin's own."""
    assert "`[trusted_computing] attestation_wait_seconds`" in entry(page, "TrustedFilter")
    assert "`[scheduler] placement_aggregate_required_for_tenants`" in entry(page, "tenant")


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("Asks ``a`` and\n:mod:`objects.b`.", "Asks `a` and `objects.b`."),
        ("One.\n\nTwo\nmore.", "One.\n\nTwo more."),
        ("- one\n  more\n- two", "- one more\n- two"),
        ("Such as::\n\n    a = b\n    c", "Such as::\n\n    a = b\n    c"),
    ],
)
def test_docstrings_become_markdown(tool: ModuleType, docstring: str, markdown: str) -> None:
    """Paragraphs, lists, code."""
    assert tool._markdown(docstring) == markdown


def test_lines_are_not_broken_within_code(tool: ModuleType) -> None:
    """A code span over two lines would be another one."""
    text = f"{'x' * 110} `[a group] and_its_option` y"
    assert tool._wrapped(text) == f"{'x' * 110}\n`[a group] and_its_option` y"


def test_an_old_page_is_told(
    tool: ModuleType, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until it is written again."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "setup.cfg").write_bytes((ROOT / "setup.cfg").read_bytes())
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["plugin_reference", "--check"])
    assert tool.main() == 1
    assert "run `make samples`" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["plugin_reference"])
    assert tool.main() == 0
    monkeypatch.setattr("sys.argv", ["plugin_reference", "--check"])
    assert tool.main() == 0
