"""The page of a simulation, opened as a file."""

import re
from pathlib import Path
from typing import Any

import pytest

from simulator.results.html_page import write_html
from tests.console.browser import Tab, violations
from tests.console.test_unusual_answers import is_wider_than_the_window
from tests.fixtures.fleets.simulations import a_scenario, a_stream, run, some_hosts, write_policy

WRITTEN = """
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    window.written.push(text);
    write.call(this, text, x, y);
  };
"""
MARKUP = "</script><img src=x onerror=alert(1)>"
PHONE = {"width": 390, "height": 844}
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


@pytest.mark.long
def test_two_policies_with_hostile_names_are_compared(browser: Any, tmp_path: Path) -> None:
    """By keyboard, in both schemes, on a phone; names are shown as they are, and run nothing."""
    odd = {"vcpus": 1, "memory_mb": 1024}
    scenario = a_scenario(
        tmp_path,
        title=f"{MARKUP}\u2028\u0645",
        hosts=[some_hosts(zone=f"{MARKUP}z", cell=MARKUP, aggregates=[MARKUP])],
        aggregates={MARKUP: {MARKUP: MARKUP, "constructor": "c"}, "bare": {}},
        flavors={MARKUP: odd},
        load=[a_stream(flavors={MARKUP: 1}, name=MARKUP)],
    )
    lines = {"spread": "cpu_weight_multiplier = 1.0", "pack": "cpu_weight_multiplier = -1.0"}
    policies = [
        write_policy(tmp_path, f"<b>{name}", ["[filter_scheduler]", line])
        for name, line in lines.items()
    ]
    write_html(tmp_path / "page.html", scenario, [run(scenario, each) for each in policies])
    tab = Tab(browser, "file://", color_scheme="light", timezone_id="Asia/Kathmandu")
    page = tab.page
    page.on("dialog", lambda dialog: tab.faults.append(dialog.message))
    page.goto(f"file://{tmp_path}/page.html#policy=length&at={MARKUP}&zoom=many&time=never")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    last = slider.get_attribute("max")
    assert slider.input_value() == last
    page.keyboard.press("ArrowLeft")
    assert slider.input_value() == str(int(last) - 1)
    for by in ("aggregate", "cell", "key:constructor", f"key:{MARKUP}"):
        page.get_by_label("Group by").select_option(by)
    heads = page.locator(".policy h2").all_inner_texts()
    assert [head.split()[0] for head in heads] == ["<b>spread", "<b>pack"]
    used = page.get_by_role("region", name="Figures").locator("tbody tr").all_inner_texts()
    assert any(row.startswith("Accepted\t20\t20") for row in used)
    page.get_by_role("button", name="<b>pack").click()
    page.get_by_text(f"of flavor {MARKUP}").wait_for()
    found = {"light": violations(page)}
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    found["dark, phone"] = violations(page)
    assert {name: each for name, each in found.items() if each} == {}
    assert not is_wider_than_the_window(page)
    tab.close()
    assert tab.faults == []
