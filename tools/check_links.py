"""Say which links between our own pages lead nowhere."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def broken_links() -> Iterator[str]:
    """Yield one line for each link whose target is not in the tree."""
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        for target in LINK.findall(CODE.sub("", page.read_text())):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: {target} does not exist"


def main() -> int:
    """Return 0 when every link leads somewhere."""
    broken = list(broken_links())
    print("\n".join(broken) or "every link leads somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
