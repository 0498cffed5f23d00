"""The command line of ``armillary simulate``."""

import io
import json
from pathlib import Path

import pytest

from programs.commands.app import ClientApp
from tests.fixtures.fleets.simulations import write_policy, write_scenario

pytestmark = pytest.mark.sampled_tests(every=3)


def simulate(*words: object) -> tuple[int, str, str]:
    """Return exit code, output, and what was said beside it."""
    stdout, stderr = io.StringIO(), io.StringIO()
    app = ClientApp(stdout=stdout, stderr=stderr, environment={})
    code = app.run(["simulate", *map(str, words)])
    return code, stdout.getvalue(), stderr.getvalue()


def test_a_scenario_is_simulated(tmp_path: Path) -> None:
    """No API is asked, and no progress is shown without a terminal."""
    path = write_scenario(tmp_path)
    code, output, said = simulate(path)
    assert (code, said) == (0, "")
    assert "4 hosts, 20 requests for 20 instances" in output


def test_figures_and_a_picture_are_written(tmp_path: Path) -> None:
    """Where they are asked for."""
    path = write_scenario(tmp_path)
    code, _output, _said = simulate(
        path, "--seed", 7, "--json", tmp_path / "a.json", "--plot", tmp_path / "a.png"
    )
    assert code == 0
    assert json.loads((tmp_path / "a.json").read_text())["scenario"]["seed"] == 7
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_two_policies_are_compared(tmp_path: Path) -> None:
    """Side by side, on top of the common one."""
    path = write_scenario(tmp_path)
    head = "[filter_scheduler]"
    common = write_policy(tmp_path, "common", [head, "cpu_weight_multiplier = 0"])
    spread = write_policy(tmp_path, "spread", [head, "ram_weight_multiplier = 1"])
    pack = write_policy(tmp_path, "pack", [head, "ram_weight_multiplier = -1"])
    code, output, _said = simulate(path, "--config-file", common, "--compare", spread, pack)
    assert code == 0
    assert output.splitlines()[2].split() == ["spread", "pack", "difference"]


def test_a_misspelt_option_is_warned_of_once(tmp_path: Path) -> None:
    """However many policies it is in."""
    path = write_scenario(tmp_path)
    policy = write_policy(tmp_path, "p", ["[filter_scheduler]", "host_subsets = 1"])
    code, _output, said = simulate(path, "--compare", policy, policy)
    assert code == 0
    assert said.count("host_subsets") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.yaml"], "none.yaml: the file: cannot be read"),
        (["scenario.yaml", "--json", "none/x.json"], "there is no directory none"),
        (["scenario.yaml", "--config-file", "none.conf"], "none.conf"),
        (["scenario.yaml", "--seed", "-1"], "-1 is less than 0"),
    ],
    ids=["scenario", "output", "policy", "seed"],
)
def test_wrong_usage_has_its_exit_code(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """One line says what is wrong."""
    monkeypatch.chdir(tmp_path)
    write_scenario(tmp_path)
    try:
        code, output, said = simulate(*words)
    except SystemExit as ended:  # argparse's own way
        code, output, said = int(str(ended.code)), "", capsys.readouterr().err
    assert (code, output) == (2, "")
    assert message in said
