"""Print how long our files and functions are, package by package: for orientation, not a limit."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGES = [
    "armillary", "api", "scheduler", "conductor", "compute_agent", "placement", "rpc", "objects",
    "tests",
]  # fmt: skip


def function_lengths(tree: ast.AST) -> Iterator[int]:
    """Yield the number of lines of each function in a module, decorators not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.end_lineno - node.lineno + 1 if node.end_lineno else 1


def spread(lengths: list[int]) -> str:
    """Say how many there are, and the length that half, nine in ten and all stay within."""
    if not lengths:
        return f"{0:6}{'-':>7}{'-':>7}{'-':>7}"
    ordered = sorted(lengths)
    half, most = (ordered[int((len(ordered) - 1) * share)] for share in (0.5, 0.9))
    return f"{len(ordered):6}{half:7}{most:7}{ordered[-1]:7}"


def main() -> None:
    """Print one row a package, and one for all of the product."""
    heads = f"{'':6}{'half':>7}{'9 in 10':>7}{'longest':>8}"
    print(f"{'lines of':15}{'files':>6}{heads[6:]}   {'functions':>6}{heads[6:]}")
    all_files: list[int] = []
    all_functions: list[int] = []
    for package in PACKAGES:
        files: list[int] = []
        functions: list[int] = []
        for path in Path(package).rglob("*.py"):
            text = path.read_text()
            files.append(text.count("\n"))
            functions.extend(function_lengths(ast.parse(text)))
        print(f"{package:15}{spread(files)}   {spread(functions)}")
        if package != "tests":
            all_files += files
            all_functions += functions
    print(f"{'the product':15}{spread(all_files)}   {spread(all_functions)}")


if __name__ == "__main__":
    main()
