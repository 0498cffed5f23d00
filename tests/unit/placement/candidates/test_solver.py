"""The solver and its plans: each way once, exchanges of equal leaves apart, and no way for ever."""

import pytest

from armillary import exception
from placement.candidates.plan import Plan
from placement.candidates.problem import Problem, problem_of
from placement.candidates.query import Group, Query
from placement.candidates.solver import SearchBudget, Solver
from placement.candidates.tree_classes import Node, TreeClass


def a_problem(*amounts: int, is_isolated: bool = False, **values: object) -> Problem:
    """Return a question with a group of one class for each amount."""
    groups = tuple(
        Group({"PGPU": amount}, suffix=f"_{index}") for index, amount in enumerate(amounts)
    )
    return problem_of(Query(groups, is_isolated=is_isolated, **values))  # type: ignore[arg-type]


def a_kind(*rooms: int, needs: int = 1) -> TreeClass:
    """Return leaves that can serve these needs and have some room left of what is contested."""
    nodes = tuple(Node(needs, 0, (room,), 0, is_own=True) for room in rooms)
    return TreeClass(nodes, (-1,) * len(nodes))


def an_uncontested_kind(*above: int) -> TreeClass:
    """Return nodes below others; their room does not matter."""
    return TreeClass((Node(1, 0, (), 0, is_own=True),) * len(above), above)


def a_solver(problem: Problem, kind: TreeClass, steps: int = 1000) -> Solver:
    return Solver(problem, kind, SearchBudget(steps))


def test_equal_leaves_are_one_choice() -> None:
    """The first of them stands for all."""
    assert [*a_solver(a_problem(1, 1), a_kind(1, 1, 1)).choices()] == [(0, 1)]
    assert [*a_solver(a_problem(1, 1), a_kind(2, 2, 2)).choices()] == [(0, 0), (0, 1)]


def test_what_differs_is_chosen_apart() -> None:
    """A leaf with less room is not equal, nor is one below another provider."""
    choices = [*a_solver(a_problem(1, 1), a_kind(1, 2)).choices()]
    assert choices == [(0, 1), (1, 0), (1, 1)]
    kind = an_uncontested_kind(-1, 0, 0, -1)
    assert [*a_solver(a_problem(1), kind).choices()] == [(0,), (1,), (3,)]


def test_isolated_groups_take_a_leaf_each() -> None:
    """However much room it has."""
    solver = a_solver(a_problem(1, 1, is_isolated=True), an_uncontested_kind(-1, -1))
    assert [*solver.choices()] == [(0, 1)]


def test_a_plan_lists_exchanges_after_the_choices() -> None:
    """Each way once, and as many as were counted."""
    plan = Plan(a_solver(a_problem(1, 1), a_kind(2, 2, 2)))
    assert plan.count() == 9
    ways = plan.first(9).nodes.tolist()
    assert ways[:2] == [[0, 0], [0, 1]]
    assert sorted(ways) == [[one, other] for one in range(3) for other in range(3)]


def test_a_plan_goes_no_further_than_it_is_asked() -> None:
    """The solver waits in between."""
    plan = Plan(a_solver(a_problem(*[1] * 8), a_kind(*[8] * 8)))
    assert plan.count(5) == 5
    assert len(plan.first(5).nodes) == 5
    assert plan.count(7) == 7
    assert len({tuple(way) for way in plan.first(7).nodes.tolist()}) == 7


def test_ways_that_share_providers_alike_have_one_pattern() -> None:
    """Slots are numbered as they come in a way."""
    plan = Plan(a_solver(a_problem(1, 1), a_kind(2, 2)))
    ways = plan.first(plan.count())
    assert [ways.patterns[number] for number in ways.which] == [
        (0, 0) if one == other else (0, 1) for one, other in ways.nodes.tolist()
    ]


def test_a_dead_end_is_walked_once() -> None:
    """Which of the equal groups is where makes no difference."""
    problem = a_problem(*[9] * 3, *[7] * 3, *[5] * 6, *[2] * 3)
    kind = a_kind(*[17] * 5, needs=(1 << len(problem.groups)) - 1)
    assert [*Solver(problem, kind, SearchBudget(0)).choices()] == []  # the free steps suffice


def test_a_question_that_takes_for_ever_is_refused() -> None:
    """What can be asked differently is said."""
    amounts = [13, 17, 19, 23, 11, 14, 16, 22, 12, 18, 21, 15, 20, 24]
    problem = a_problem(*amounts)
    kind = a_kind(62, 61, 63, 60, needs=(1 << len(amounts)) - 1)
    with pytest.raises(exception.InvalidResourceQuery, match="request fewer groups"):
        [*Solver(problem, kind, SearchBudget(50)).choices()]
