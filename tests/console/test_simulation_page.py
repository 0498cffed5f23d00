"""The page of a simulation, opened as a file."""

import re
from pathlib import Path
from typing import Any

import pytest

from simulator.results.html_page import write_html
from tests.console.browser import Tab, violations
from tests.fixtures.fleets.simulations import a_scenario, a_stream, run

WRITTEN = """
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    window.written.push(text);
    write.call(this, text, x, y);
  };
"""
FRACTION = re.compile(r"\d+\.\d+( %)?")


@pytest.mark.long
def test_a_simulation_is_looked_at_without_a_service(browser: Any, tmp_path: Path) -> None:
    """Its hosts, its figures and a decision, from one file without requests."""
    flavors = {"small": {"vcpus": 1, "memory_mb": 1024}, "greedy": {"vcpus": 64, "memory_mb": 1024}}
    load = [a_stream(), a_stream(flavors={"greedy": 1}, arrivals={"fixed": 0.1})]
    scenario = a_scenario(tmp_path, title="</script>A & B", flavors=flavors, load=load)
    outcome = run(scenario)
    write_html(tmp_path / "page.html", scenario, [outcome, outcome])
    tab = Tab(browser, "file://", color_scheme="dark")
    tab.page.add_init_script(WRITTEN)
    tab.page.goto(f"file://{tmp_path}/page.html")
    tab.page.get_by_role("heading", name="</script>A & B").wait_for()
    slider = tab.page.get_by_role("slider")
    for sample in (0, 200):
        servers = sum(host["instances"][sample] for host in outcome.hosts["hosts"].values())
        slider.fill(str(sample))
        said = f"{servers} server{'' if servers == 1 else 's'}, "
        tab.page.get_by_text(said).first.wait_for()
    tab.page.get_by_text("64 vCPU asked").wait_for()
    tab.page.wait_for_url("**#time=*")
    tab.page.get_by_role("button", name="Zoom in").first.click()
    tab.page.wait_for_url("**zoom=*")
    colleague = Tab(browser, "file://", color_scheme="dark")
    colleague.page.goto(tab.page.url)
    colleague.page.get_by_text(said).first.wait_for()
    assert colleague.page.get_by_role("slider").input_value() == slider.input_value()
    assert colleague.faults == []
    colleague.close()
    tab.page.wait_for_function("() => written.some((text) => text === '1')")
    assert [text for text in tab.page.evaluate("() => written") if FRACTION.fullmatch(text)] == []
    ids = tab.page.eval_on_selector_all("[id]", "all => all.map(each => each.id)")
    assert len(ids) == len(set(ids))
    assert violations(tab.page) == []
    tab.close()
    assert tab.faults == []
