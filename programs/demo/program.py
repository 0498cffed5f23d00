"""The program ``armillary demo``: runs the story and always cleans up."""

import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from armillary import exception
from programs.commands.programs import demo_parser
from programs.demo import fleet
from programs.demo.control_plane import ControlPlane
from programs.demo.screen import Screen
from programs.demo.story import Story

FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Run the demo; return 0 on success, 1 on failure, 130 after Ctrl-C."""
    arguments = demo_parser().parse_args(argv)
    state_dir = Path(tempfile.mkdtemp(prefix="armillary-demo-"))
    declarations = [hosts.declaration for hosts in fleet.FLEET]
    story = Story(ControlPlane(state_dir, declarations, fleet.CONFIGURATION), Screen())
    code = FAILED
    try:
        with _ending_like_ctrl_c(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            code = _run(story)
    finally:
        if code != FAILED and not arguments.keep:
            shutil.rmtree(state_dir, ignore_errors=True)
    return code


def _run(story: Story) -> int:
    try:
        story.tell()
    except KeyboardInterrupt:
        story.screen.say(
            "Interrupted: cleaning up. Press Ctrl-C again to exit immediately.", style="yellow"
        )
        return INTERRUPTED
    except exception.ArmillaryError as error:
        story.screen.say(f"\nThe demo failed: {error}", style="bold red")
        story.screen.say(f"Log and databases: {story.plane.log_path.parent}")
        return FAILED
    else:
        return 0
    finally:
        story.clean_up()


@contextmanager
def _ending_like_ctrl_c(*signals: signal.Signals) -> Iterator[None]:
    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    former = {number: signal.signal(number, end) for number in signals}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
