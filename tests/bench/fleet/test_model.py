"""The simulation of a fleet beside what was measured, and beside what can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.fleet.model import (
    DAY_S,
    Figures,
    Fleet,
    Station,
    alone_s,
    at_full,
    checked,
    idle_commits_per_s,
    main,
    modelled_s,
    most_workers,
    needs,
    read,
    simulate,
    sizing,
)

FIGURES, POINTS, _ = read()
EASY = Figures(0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 1000.0, 0.0, 0.0, 2, 1, 0.0, 1e9)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point['workers']} workers, {point['answer_s']:g} s")
def test_the_model_says_what_was_measured(point: dict[str, float]) -> None:
    assert modelled_s(point, FIGURES) == pytest.approx(point["seconds"], rel=0.3)


def test_there_are_points_of_one_two_and_four_workers_and_one_where_processors_are_short() -> None:
    assert {point["workers"] for point in POINTS} == {1, 2, 4}
    assert any(point["answer_s"] == 0 for point in POINTS)


def test_a_station_takes_one_after_the_other() -> None:
    one, two, half = Station(1), Station(2), Station(0.5)
    assert [one.end(0, 2) for _ in range(3)] == [2, 4, 6]
    assert [two.end(0, 2) for _ in range(3)] == [2, 2, 4]
    assert half.end(0, 2) == 4
    assert one.end(10, 1) == 11
    assert one.used(14) == 0.5


def test_runs_that_wait_for_nothing_take_what_can_be_worked_out() -> None:
    fleet = Fleet(workers=2, slots=3, cores=100, turns=9, answer_s=1.0)
    assert alone_s(fleet, EASY) == pytest.approx(10 * 1.1)
    outcome = simulate(fleet, EASY)
    assert outcome.run_s == pytest.approx(11.0)
    assert outcome.runs_per_s == pytest.approx(6 / 11.0, rel=0.1)
    assert outcome.used["slots"] == pytest.approx(1.0, rel=0.1)
    slow = simulate(replace(fleet, runs_per_day=DAY_S / 20), EASY)
    assert slow.runs_per_s == pytest.approx(1 / 20, rel=0.1)
    assert slow.wait_s == 0.0
    late = simulate(replace(fleet, runs_per_day=DAY_S * 2.0), EASY)
    assert late.wait_s > 1, "more come than can be done"


def test_what_is_short_bounds_the_fleet() -> None:
    fleet = Fleet(workers=2, slots=8, cores=0.5, turns=9, answer_s=1.0)
    outcome = simulate(fleet, EASY)
    assert outcome.runs_per_s == pytest.approx(0.5 / 1.0, rel=0.1)  # a second of processor time for each run
    assert outcome.used["processors"] == pytest.approx(1.0, abs=0.1)
    tight = replace(EASY, turn_commits=10.0, commits_per_s=20.0)
    outcome = simulate(replace(fleet, cores=100), tight)
    assert outcome.runs_per_s == pytest.approx(20 / 100, rel=0.1)
    assert outcome.used["commits"] == pytest.approx(1.0, abs=0.1)
    talking = replace(tight, idle_commits_per_s=30.0)
    assert simulate(fleet, talking).runs_per_s == 0.0


def test_workers_together_talk_less_than_each_alone_would() -> None:
    assert idle_commits_per_s(FIGURES, 1) == pytest.approx(FIGURES.idle_commits_per_s)
    assert idle_commits_per_s(FIGURES, 1_000) < 200 * FIGURES.idle_commits_per_s


def test_what_is_needed_grows_with_the_runs_and_what_is_short_is_named() -> None:
    small, large = needs(10_000, 4, 25, 10.0, FIGURES), needs(100_000, 4, 25, 10.0, FIGURES)
    assert large.rows_per_s == pytest.approx(10 * small.rows_per_s)
    assert large.gb_per_day == pytest.approx(10 * small.gb_per_day)
    assert small.workers < large.workers <= 10 * small.workers
    most = most_workers(4, 25, 10.0, FIGURES, 500)
    assert most["connections"] == 500 // (FIGURES.worker_connections + 4 * FIGURES.run_connections)


@pytest.mark.thorough
def test_the_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--check"]) == 0
    said = capsys.readouterr().out
    assert sizing(FIGURES) in said
    assert at_full(FIGURES) in said
    assert checked(FIGURES, POINTS) in said
    assert main(["--workers", "50", "--runs", "20000", "--answer", "5"]) == 0
    assert "runs a day" in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main(["--workers", "3", "--turns", "0"])
    assert refused.value.code == 2
