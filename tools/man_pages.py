"""Write the programs' manual pages, from their --help: man_pages.py PROGRAMS PAGES VERSION."""

import os
import subprocess
import sys
from pathlib import Path

SECTION = 8


def main(programs: Path, pages: Path, version: str) -> int:
    """Write the pages; return the exit code."""
    pages.mkdir(parents=True, exist_ok=True)
    for program in sorted(programs.glob("armillary*")):
        text = _page(program, version)
        (pages / f"{program.name}.{SECTION}").write_text(text, encoding="utf-8")
    return 0


def _page(program: Path, version: str) -> str:
    """Return a page in troff, with the help as it is printed."""
    said = subprocess.run(
        [program, "--help"], check=True, capture_output=True, text=True,
        env={**os.environ, "COLUMNS": "78", "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    name, helped = _escaped(program.name), _escaped(said.stdout.strip())
    return (
        f'.TH {name.upper()} {SECTION} "" "Armillary {version}" "Armillary"\n'
        f".SH NAME\n{name} \\- a program of Armillary, a distributed scheduler\n"
        f".SH SYNOPSIS\n.nf\n{helped}\n.fi\n"
        ".SH SEE ALSO\n/usr/share/doc/armillary, armillary(8), armillary\\-manage(8)\n"
    )


def _escaped(text: str) -> str:
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
