"""The page of a simulation."""

import base64
import json
import re
from functools import partial
from pathlib import Path

from simulator.results.decision_samples import SAMPLES_MAX, DecisionSample, DecisionSamples
from simulator.results.html_page import page_of
from tests.fixtures.fleets.simulations import a_scenario, run


def a_page(folder: Path, title: str = "A scenario") -> str:
    scenario = a_scenario(folder, title=title)
    return page_of(scenario, [run(scenario)])


def test_every_module_that_is_imported_is_in_the_page(tmp_path: Path) -> None:
    """By the name that the others import it under; no path is left."""
    page = a_page(tmp_path)
    imports = json.loads(re.findall(r'<script type="importmap">(.*?)</script>', page)[0])["imports"]
    modules = {
        name: base64.b64decode(url.partition(",")[2]).decode() for name, url in imports.items()
    }
    asked = {
        found
        for text in modules.values()
        for found in re.findall(r'(?:from|import\()\s*"((?:console|\.)[^"\s]+)"', text)
    }
    assert asked == modules.keys() - {"console/app/simulation/simulation_page.js"}


def test_names_of_a_scenario_end_no_element(tmp_path: Path) -> None:
    """They are data, whatever they say."""
    page = a_page(tmp_path, title="</script><script>alert(1)</script>")
    assert "<script>alert" not in page


def test_samples_are_bounded_and_spread() -> None:
    """Decisions of the whole run are kept, not only its first ones."""
    samples = DecisionSamples()
    for number in range(1000):
        samples.add(partial(DecisionSample, number, number, "small", 1, {}))
    kept = [each["request"] for each in samples.to_plain()]
    assert len(kept) <= SAMPLES_MAX
    assert (kept[0], kept[-1]) == (0, 992)
