"""Plots of a simulation over time; requires the optional matplotlib."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from armillary import exception
from simulator.results.outcome import Outcome

SIZE_INCHES = (13, 9)
STYLES = ("-", "--")


def require_matplotlib() -> None:
    """Raise ``Invalid`` with installation instructions if matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise exception.Invalid(
            "--plot requires matplotlib, which is not installed: pip install 'armillary[plot]'"
        )


def draw(title: str, outcomes: Sequence[Outcome], path: Path) -> None:
    """Write the plot; the file's suffix selects the format. Raises ``OSError``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    FigureCanvasAgg(figure)  # renders into memory: no display is needed
    figure.suptitle(title)
    panels: Any = figure.subplots(2, 2)
    for panel, (heading, unit, is_shown) in zip(panels.flat, _PANELS, strict=True):
        _fill(panel, outcomes, is_shown)
        panel.set_title(heading)
        panel.set_ylabel(unit)
        panel.set_xlabel("simulated seconds")
        panel.grid(alpha=0.3)
        panel.set_ylim(bottom=0)
        panel.legend(fontsize="small")
    figure.savefig(path, format="png", dpi=110)


_PANELS: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("Utilisation", "fraction of the capacity", lambda name: name.startswith("used ")),
    (
        "Instances",
        "instances",
        lambda name: name in ("accepted", "refused", "failed", "running", "lost"),
    ),
    (
        "Fragmentation and imbalance",
        "fraction of the room lost; Gini coefficient of load",
        lambda name: name.startswith("fragmentation ") or name == "load gini",
    ),
    ("Empty and down hosts", "hosts", lambda name: name in ("empty_hosts", "down_hosts")),
)


def _fill(panel: Any, outcomes: Sequence[Outcome], is_shown: Callable[[str], bool]) -> None:
    """Plot the series, with one colour each and one style per policy."""
    for outcome, style in zip(outcomes, STYLES, strict=False):
        suffix = f" ({outcome.policy})" if len(outcomes) > 1 else ""
        names = filter(is_shown, outcome.series)
        for number, name in enumerate(names):
            panel.plot(
                outcome.series["seconds"],
                outcome.series[name],
                style,
                color=f"C{number % 10}",
                label=f"{name.removeprefix('used ').replace('_', ' ')}{suffix}",
            )
