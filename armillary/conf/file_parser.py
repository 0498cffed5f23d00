"""Parsing of one configuration file; errors name the line."""

from pathlib import Path

from oslo_config import cfg, iniparser

Sections = dict[str, dict[str, list[str]]]
"""Group -> option -> values, as a file has them."""


class _Parser(cfg.ConfigParser):
    """A parser of lines, which names the line of an option that stands before any section."""

    def __init__(self, path: Path, sections: Sections) -> None:
        super().__init__(str(path), sections)
        self.lines = path.read_text(encoding="utf-8-sig").split("\n")

    def error_no_section(self) -> cfg.ParseError:
        numbered = enumerate(self.lines, 1)
        first = next(number for number, line in numbered if line.strip() and line[0] not in "#;")
        return self.parse_exc("an option stands before the first section", first)


def parse(path: Path, sections: Sections) -> None:
    """Add what a file has to ``sections``. Takes a byte order mark.

    Raises OSError, and ValueError that says what is wrong in which line.
    """
    try:
        parser = _Parser(path, sections)
        iniparser.BaseParser.parse(parser, parser.lines)
    except cfg.ParseError as error:
        where = f"line {error.lineno}: {error.msg}"
        raise ValueError(where if error.line is None else f"{where}: {error.line}") from error
    except UnicodeError as error:
        raise ValueError(f"it is not UTF-8 ({error})") from error
