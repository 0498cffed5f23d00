"""``armillary-manage nova import-config``: our configuration from a nova.conf."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.files import private_files
from programs.application import WithOptions
from programs.operator.nova import nova_files, translation
from programs.operator.nova.translation import Outcome

EXIT_UNDECIDED = 3


class NovaImportConfig(WithOptions):
    """Translate a nova.conf; standard error has a line with the outcome for each option.

    Options are kept, renamed, dropped (with the reason), or left to decide: these are comments at
    the top of the new file. All our services can share the file. Exit codes: 0 success, 1 the file
    cannot be read or written, 3 there is something to decide.
    """

    app: Any

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", type=Path, metavar="FILE", nargs="+",
            help="nova.conf; of several files, as services read them, later ones take precedence",
        )  # fmt: skip
        parser.add_argument(
            "--output", type=Path, metavar="FILE",
            help="new file, readable by its owner alone (default: standard output)",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> int:
        translated = translation.translate(nova_files.read(*parsed_args.files))
        for one in translated:
            self.app.stderr.write(f"{one.line()}\n")
        text = "".join(f"{line}\n" for line in translation.lines_of(translated))
        if parsed_args.output is None:
            self.app.stdout.write(text)
        else:
            self._write(parsed_args.output, text)
        mistake = translation.mistake_in(text)
        if mistake is not None:
            self.app.stderr.write(f"decide: no service starts with this yet: {mistake}\n")
        counts = Counter(one.outcome for one in translated)
        sums = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
        self.app.stderr.write(f"{len(translated)} options: {sums}\n")
        return EXIT_UNDECIDED if counts[Outcome.DECIDE] or mistake else 0

    def _write(self, path: Path, text: str) -> None:
        if path.exists():
            raise exception.Invalid(reason=f"{path} exists; give another file, or remove it")
        try:
            private_files.write(path, text)
        except OSError as error:
            raise exception.Invalid(reason=f"{path} cannot be written: {error.strerror}") from error
