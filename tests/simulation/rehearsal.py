"""Stories without checks, played before the first seed, so that each finds a warm program.

What a program does for the first time costs most: statements are compiled, classes looked into. A
fork has what its parent did; so that is done there once, and the deployment thrown away.
"""

from pathlib import Path

from tests.simulation import memory, stage
from tests.simulation.hub import HUB
from tests.simulation.run import run
from tests.simulation.world import SimDatabase

SEEDS = range(1_000_000_000, 1_000_000_004)
"""Number of stories that do nearly everything that a story can do."""


def rehearse(folder: Path) -> None:
    """Play stories in a deployment of their own in a folder, and leave nothing of it behind.

    They are the same for every series, so that a seed is the same in each.
    """
    played = stage.make(folder)
    for seed in SEEDS:
        HUB.failures.clear()
        run(played, seed)
    for process in (*played.world.processes.values(), played.world.user):
        HUB.kill(process)
    SimDatabase.close_shared()
    memory.forget()
