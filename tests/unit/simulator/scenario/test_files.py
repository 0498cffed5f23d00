"""Files that a simulation writes."""

import json
from pathlib import Path

import pytest

from armillary import exception
from simulator.scenario.files import require_writable, write_json
from tests.fixtures.fleets.simulations import a_scenario, run


def test_json_holds_all_runs_and_their_differences(tmp_path: Path) -> None:
    """With the scenario that they are of."""
    scenario = a_scenario(tmp_path, title="Small")
    outcome = run(scenario)
    path = tmp_path / "out.json"
    write_json(path, scenario, [outcome, outcome])
    document = json.loads(path.read_text())
    assert document["scenario"]["title"] == "Small"
    assert document["scenario"]["hosts"] == 4
    assert document["runs"][0] == json.loads(json.dumps(outcome.to_plain()))
    assert set(document["differences"]["counts"].values()) == {0}


def test_one_run_has_no_differences(tmp_path: Path) -> None:
    """There is nothing to take it from."""
    scenario = a_scenario(tmp_path)
    path = tmp_path / "out.json"
    write_json(path, scenario, [run(scenario)])
    assert "differences" not in json.loads(path.read_text())


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    """Before anything is simulated."""
    require_writable("--json", tmp_path / "out.json")
    with pytest.raises(exception.Invalid, match=r"--json .*none/out\.json: there is no directory"):
        require_writable("--json", tmp_path / "none" / "out.json")
    with pytest.raises(exception.Invalid, match="it is a directory"):
        require_writable("--plot", tmp_path)
