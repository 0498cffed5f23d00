"""The law of the ledger: whatever is asked of it, it keeps count and gives nothing away twice."""

import copy
from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from armillary import exception
from placement.ledger.allocation_transaction import ANY, AllocationTransaction, ConsumerWrite, Shape
from placement.ledger.ledger import Account, Amounts, Ledger, Provider
from placement.providers.inventory import Inventory
from tests.builders import a_claim
from tests.fixtures.plugins.examples import examples

ME, YOU, HER = (f"c0ffee00-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
P1, P2 = (f"c0ffee00-0000-4000-8000-0000000000f{number}" for number in (1, 2))


def an_inventory(total: int, **values: Any) -> Inventory:
    figures = {"reserved": 0, "min_unit": 1, "max_unit": 100, "step_size": 1}
    return Inventory(**{"total": total, **figures, "allocation_ratio": 1.0, **values})


consumers = st.sampled_from([ME, YOU, HER])
providers = st.sampled_from([P1, P2])
resources = st.dictionaries(st.sampled_from(["VCPU", "DISK_GB"]), st.integers(1, 6), min_size=1)
amounts = st.dictionaries(providers, resources, max_size=2)
fences = st.sampled_from([0, 0, 1, 2])
generations = st.sampled_from([ANY] * 8 + [None, 1, 2])
inventories = st.dictionaries(
    st.sampled_from(["VCPU", "VCPU", "DISK_GB"]),
    st.builds(
        an_inventory,
        st.integers(1, 12),
        step_size=st.sampled_from([1, 1, 2]),
        max_unit=st.sampled_from([4, 100]),
        allocation_ratio=st.sampled_from([1.0, 1.5]),
    ),
)
_State = tuple[Any, ...]


def accounts() -> dict[str, Account]:
    return {name: Account(n, an_inventory(8), 0) for n, name in enumerate(("VCPU", "DISK_GB"))}


class LedgerLaw(RuleBasedStateMachine):
    """Whatever is asked of a ledger: usage is what is held, and who takes more fits."""

    @initialize()
    def begin(self) -> None:
        providers = {
            uuid: Provider(number, uuid, accounts()) for number, uuid in enumerate((P1, P2))
        }
        holdings = dict.fromkeys((ME, YOU, HER))
        self.ledger = Ledger(holdings=holdings, fences={}, providers=providers)

    @rule(consumer=consumers, wanted=amounts, fence=fences, may_replace=st.booleans())
    def claim(self, consumer: str, wanted: Amounts, fence: int, may_replace: bool) -> None:
        allocations = {uuid: {"resources": item} for uuid, item in wanted.items()}
        if not allocations:
            return
        claim = a_claim(
            P1, consumer_uuid=consumer, allocations=allocations, fence=fence, replace=may_replace
        )
        before = self._state()
        if not self.ledger.claim(claim).is_claimed:
            assert self._state() == before
        self._check_capacity(before)

    @rule(consumer=consumers, fence=fences)
    def release(self, consumer: str, fence: int) -> None:
        self.ledger.release(consumer, fence)

    @rule(source=consumers, heir=consumers, fence=fences, may_replace=st.booleans())
    def move(self, source: str, heir: str, fence: int, may_replace: bool) -> None:
        if source == heir:
            return
        before = self._state()
        try:
            self.ledger.move(source, heir, fence, is_replacing=may_replace)
        except (exception.NotFound, exception.Conflict):
            assert self._state() == before

    @rule(
        wanted=st.dictionaries(consumers, st.tuples(amounts, generations), min_size=1),
        shaped=st.one_of(
            st.just({}),
            st.just({}),
            st.dictionaries(providers, st.tuples(inventories, st.sampled_from([0, 0, 0, -1]))),
        ),
    )
    def settle(
        self, wanted: dict[str, tuple[Amounts, Any]], shaped: dict[str, tuple[Any, int]]
    ) -> None:
        writes = [
            ConsumerWrite(consumer, given, "p1", "u1", generation=generation)
            for consumer, (given, generation) in wanted.items()
        ]
        shapes = {
            uuid: Shape(self.ledger.providers[uuid].generation + stale, given)
            for uuid, (given, stale) in shaped.items()
        }
        before = self._state()
        try:
            AllocationTransaction(self.ledger, writes, shapes).settle()
        except (exception.NotFound, exception.Conflict):
            assert self._state() == before
        else:
            for consumer, (given, _) in wanted.items():
                holding = self.ledger.holdings[consumer]
                assert (holding.amounts if holding else {}) == given
        self._check_capacity(before)

    @invariant()
    def usage_is_what_is_held(self) -> None:
        held = Counter[tuple[str, str]]()
        for holding in self.ledger.holdings.values():
            if holding is None:
                continue
            assert holding.amounts
            for provider, item in holding.amounts.items():
                for name, amount in item.items():
                    held[provider, name] += amount
        assert held == +Counter(self._used())

    def _used(self) -> dict[tuple[str, str], int]:
        return {
            (uuid, name): account.used
            for uuid, provider in self.ledger.providers.items()
            for name, account in provider.accounts.items()
        }

    def _state(self) -> _State:
        ledger = self.ledger
        facts = (ledger.holdings, ledger.fences, ledger.providers, ledger.changed_consumers)
        return copy.deepcopy((*facts, self._used()))

    def _check_capacity(self, before: _State) -> None:
        for (uuid, name), amount in self._used().items():
            if amount > before[-1].get((uuid, name), 0):
                account = self.ledger.providers[uuid].accounts[name]
                assert amount <= account.inventory.capacity


TestLedgerLaw = LedgerLaw.TestCase
TestLedgerLaw.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
