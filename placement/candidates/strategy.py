"""Generation strategy of candidates: their order and maximum number."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Strategy:
    """Depth-first takes all candidates of a tree before those of the next; breadth-first one each.

    ``candidates_max`` limits the number, whatever was requested (None: no limit). With a random
    source, trees and providers come in random order, so that a limited answer is a sample.
    """

    is_breadth_first: bool = False
    candidates_max: int | None = None
    rng: np.random.Generator | None = None

    def limit(self, wanted: int | None) -> int | None:
        """Return how many candidates to generate for a query with this limit."""
        bounds = [bound for bound in (wanted, self.candidates_max) if bound is not None]
        return min(bounds, default=None)


DEFAULT = Strategy()
