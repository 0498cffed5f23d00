"""Each command line in the documentation is one that its program takes."""

import contextlib
import io
import itertools
import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from programs import manage, status
from programs.application import Application
from programs.commands.app import ClientApp
from programs.commands.programs import demo_parser, up_parser
from programs.operator.nova import words as nova_words
from tests.integration.test_documented_sessions import (
    NOT_PLAYED,
    OPERATIONS,
    STORIES,
    Story,
    lines_of,
)

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PROGRAMS = ("armillary", "armillary-manage", "armillary-status")
_LINE = re.compile(rf"^(?:\$ |# )?((?:{'|'.join(PROGRAMS)}) .*)$")
_INLINE = re.compile(rf"`((?:{'|'.join(PROGRAMS)}) [^`]+)`")
_END = re.compile(r"\s(?:#|\||>|2>|&&|;).*$|\s?…$")
FILE = re.compile(r"[\w-]+\.(?:sh|pub|pem|key|txt|json|yaml|img)")
"""A file that a command may read."""
PLACEHOLDERS = {
    "N": "1", "COUNT": "1", "SECONDS": "1", "DATE": "2020-01-31", "MIB": "1", "GIB": "1",
    "KEY=VALUE": "a=b", "2030-01-31": "2020-01-31", "UUID": "7a16f6c5-c511-4e7b-91ab-0b7a9960c74d",
}  # fmt: skip
"""Words for values that an option checks."""


def command_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield lines of code blocks, which are whole, and code in sentences, which may not be."""
    joined = re.sub(r"\\\n\s*", "", text)
    is_fenced = False
    for line in joined.splitlines():
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif (is_fenced or line.startswith("    ")) and (found := _LINE.match(line.strip())):
            yield found[1], True
    for found in _INLINE.finditer(re.sub(r"(?<!\n)\n(?!\n)\s*", " ", joined)):
        yield found[1], False


def documented() -> list[tuple[str, str, bool]]:
    found: dict[tuple[str, bool], str] = {}
    for page in PAGES:
        for line, is_whole in command_lines(page.read_text(encoding="utf-8")):
            found.setdefault((_END.sub("", line).strip(), is_whole), page.name)
    return [(page, line, is_whole) for (line, is_whole), page in found.items()]


@cache
def application(program: str) -> Application:
    if program == "armillary":
        return ClientApp()
    make = manage.make_app if program == "armillary-manage" else status.make_app
    return make(io.StringIO(), io.StringIO())


def words_of(line: str) -> list[str]:
    """Return the words of a line: optional parts are given, of alternatives the first."""
    words = shlex.split(re.sub(r"[\[\]]", " ", line).replace("…", ""))
    words = [word.partition("|")[0] for word in words]
    return [PLACEHOLDERS.get(word, word) for word in words if word != "..."]


def parser_of(program: str, words: list[str]) -> tuple[ArgumentParser, list[str]]:
    """Return the parser of a command, and its arguments."""
    own = {"up": up_parser, "demo": demo_parser}
    if program == "armillary" and words[0] in own:
        return own[words[0]](), words[1:]
    app = application(program)
    factory, name, rest = app.command_manager.find_command(words)
    return factory(app, None, cmd_name=name).get_parser(name), rest


def names_something(program: str, words: list[str]) -> bool:
    """Return whether words name a command or a group of commands, and options that it has."""
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    try:
        parser = parser_of(program, words)[0]
    except ValueError:
        commands = application(program).command_manager.commands
        return not options and any(
            f"{name} ".startswith(f"{' '.join(names)} ") for name in commands
        )
    return options <= set(parser._option_string_actions)


@pytest.fixture
def readers_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where a reader runs a command, with the files that it names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "line", "is_whole"), documented())
def test_commands_in_the_documentation_are_understood(
    readers_folder: Path, page: str, line: str, is_whole: bool
) -> None:
    """With their options; a reader who copies one gets no usage message."""
    program, *words = words_of(line)
    for name in filter(FILE.fullmatch, words):
        (readers_folder / name).touch()
    app = application(program)
    if not is_whole and words[0] in app.parser._option_string_actions:
        return  # a general option in a sentence
    options, words = app.parser.parse_known_args(words)
    if not words or options.deferred_help or words[0] in ("help", "complete"):
        return
    table = {"armillary-manage": nova_words.MANAGE, "armillary-status": nova_words.STATUS}
    words = nova_words.translated(words, table[program]) if program in table else words
    if not is_whole and names_something(program, words):
        return
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            parser, rest = parser_of(program, words)
            parser.parse_args(rest)
        except (SystemExit, ValueError) as error:
            pytest.fail(f"{page}: {line}\n{error}\n{said.getvalue()}")


def test_there_are_commands_in_the_documentation() -> None:
    """Otherwise nothing was looked at."""
    assert len(documented()) > 100


def test_each_page_with_commands_is_played_or_says_why_not() -> None:
    """In the long tests' list of sessions; a page without commands needs no entry."""
    pages = [str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/operating/*.md"))]
    commands = {page: lines_of(page, Story()) for page in pages}
    ours = {page for page in pages if any(line.startswith(PROGRAMS) for line in commands[page])}
    left = ours - STORIES.keys() - OPERATIONS.keys()
    assert left == NOT_PLAYED.keys()
