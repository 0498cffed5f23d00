"""Find phrases that plain English has better words for: see ``tools/phrases.toml``."""

import dataclasses
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
PHRASES = ROOT / "tools" / "phrases.toml"
SUFFIXES = (".py", ".md", ".cfg", ".toml", ".sh", ".yaml", ".service", ".conf", "Makefile")
GAP = r"[\s#]+"
"""Between two words: a line break, and the mark of a comment after it."""


@dataclasses.dataclass(frozen=True)
class Phrase:
    """A pattern to find, and what to write instead."""

    pattern: re.Pattern[str]
    legitimate: tuple[re.Pattern[str], ...]
    write: str
    files: str

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Self:
        """Return the phrase of an entry of the list. Raises ``re.error``, ``KeyError``."""
        legitimate = tuple(_compiled(each) for each in entry.get("legitimate", ()))
        return cls(_compiled(entry["pattern"]), legitimate, entry["write"], entry.get("files", ""))

    def found_in(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each match that no legitimate text covers."""
        for found in self.pattern.finditer(text):
            if not any(self._covers(each, text, found) for each in self.legitimate):
                yield found

    @staticmethod
    def _covers(legitimate: re.Pattern[str], text: str, found: re.Match[str]) -> bool:
        around = legitimate.finditer(text, max(0, found.start() - 80), found.end() + 80)
        return any(each.start() <= found.start() < each.end() for each in around)


def read_phrases() -> list[dict[str, Any]]:
    """Return the entries of the list, with their examples."""
    entries: list[dict[str, Any]] = tomllib.loads(PHRASES.read_text())["phrase"]
    return entries


def complaints(phrases: list[Phrase], name: str, text: str) -> Iterator[str]:
    """Yield one line for each phrase in a file: where, what it says, what to write."""
    for phrase in phrases:
        if not name.endswith(phrase.files):
            continue
        for found in phrase.found_in(text):
            line = text.count("\n", 0, found.start()) + 1
            said = " ".join(re.split(GAP, found.group().strip(' "#')))
            yield f"{name}:{line}: '{said}'; write: {phrase.write}"


def files(folders: list[Path]) -> Iterator[Path]:
    """Yield the files of the tree to look at, without those that tools left behind."""
    for folder in folders:
        if folder.is_file():
            yield folder
        for here, subfolders, names in os.walk(folder):
            subfolders[:] = sorted(
                each
                for each in subfolders
                if not each.startswith((".", "__")) and not each.endswith("egg-info")
                if each not in {"build", "dist"}
            )
            for name in sorted(names):
                path = Path(here, name)
                if name.endswith(SUFFIXES) and path != PHRASES:
                    yield path


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", GAP), re.MULTILINE)


def main() -> int:
    """Print the phrases found in the given folders, or in the tree; return 1 if there are any."""
    phrases = [Phrase.of(each) for each in read_phrases()]
    folders = [Path(each).resolve() for each in sys.argv[1:]] or [ROOT]
    count = 0
    for path in files(folders):
        for complaint in complaints(phrases, str(path.relative_to(ROOT)), path.read_text()):
            print(complaint)
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
