"""Builds go to alternates when they fail, and give up when there is none left."""

from pathlib import Path

from tests.fixtures.fleets.simulations import a_scenario, a_stream, run, write_policy

ONE = [a_stream(arrivals={"bursts": {"every_seconds": 100, "requests": 1}})]


def test_a_failed_build_goes_to_the_next_alternate(tmp_path: Path) -> None:
    """It counts as one retry, and as accepted."""
    scenario = a_scenario(tmp_path, load=ONE, builds={"failing_hosts": ["h-[123]"]})
    four = write_policy(tmp_path, "p", ["[scheduler]", "max_attempts = 4"])
    counts = run(scenario, four).counts
    assert (counts["accepted"], counts["failed"]) == (1, 0)
    assert counts["retries"] <= 3


def test_a_build_that_fails_everywhere_gives_up(tmp_path: Path) -> None:
    """After as many hosts as the option says; its claim is released."""
    scenario = a_scenario(tmp_path, load=ONE, builds={"failure_rate": 1})
    outcome = run(scenario)
    counts = outcome.counts
    assert (counts["accepted"], counts["failed"], counts["retries"]) == (0, 1, 2)
    assert outcome.utilisation["VCPU"]["end"] == 0
    assert outcome.refusals[0].reason == "builds failed on all hosts that were tried"


def test_without_alternates_the_first_failure_is_final(tmp_path: Path) -> None:
    """As ``max_attempts = 1`` means."""
    policy = write_policy(tmp_path, "p", ["[scheduler]", "max_attempts = 1"])
    counts = run(a_scenario(tmp_path, load=ONE, builds={"failure_rate": 1}), policy).counts
    assert (counts["failed"], counts["retries"]) == (1, 0)


def test_a_released_place_can_be_had_immediately(tmp_path: Path) -> None:
    """One instance after the other on a fleet with room for one: none is refused."""
    scenario = a_scenario(
        tmp_path, hosts=[{"name": "h", "vcpus": 1, "memory_mb": 1024}], load=[a_stream(lifetime=1)]
    )
    counts = run(scenario).counts
    assert (counts["accepted"], counts["refused"]) == (20, 0)


def test_builds_take_their_time(tmp_path: Path) -> None:
    """What is not built at the end is neither accepted nor lost."""
    counts = run(a_scenario(tmp_path, builds={"seconds": 5})).counts
    assert (counts["building"], counts["running"]) == (4, 16)


def test_a_host_without_room_sends_an_unclaimed_build_on(tmp_path: Path) -> None:
    """The chance scheduler asks no host: the host says no, and capacity is kept to."""
    policy = write_policy(tmp_path, "p", ["[scheduler]", "driver = chance_scheduler"])
    load = [a_stream(arrivals={"fixed": 3})]
    outcome = run(a_scenario(tmp_path, load=load), policy)
    assert outcome.counts["hosts_refused"] > 0
    assert outcome.counts["failed"] > 0
    assert outcome.utilisation["MEMORY_MB"]["peak"] <= 1.0
