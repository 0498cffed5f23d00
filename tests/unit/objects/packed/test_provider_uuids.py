"""A client's book gives the UUIDs of ids that it learnt, and a checksum that shows a wrong one."""

import numpy as np
import pytest

from objects.base import ArmillaryObject
from objects.packed import provider_uuids
from objects.packed.packing import words_of
from objects.packed.provider_uuids import ProviderUUIDs, UUIDCache, check_of
from tests.builders import a_uuid


def ids_of(*numbers):
    return np.array(numbers, np.int64)


@pytest.fixture
def uuids():
    return [a_uuid() for _ in range(4)]


def test_an_empty_book_knows_nothing():
    """Before the first answer all ids are unknown, and an answer without providers is complete."""
    book = UUIDCache()
    assert book.find(ids_of(1)) is None
    assert book.unknown(ids_of(1, 2)).tolist() == [1, 2]
    assert book.find(ids_of()) == ([], check_of(ids_of(), words_of([])))


def test_learnt_ids_are_found_in_any_order(uuids):
    """The UUIDs come in the order of the question, with the checksum placement reckons."""
    book = UUIDCache()
    book.learn(ids_of(7, 3), uuids[:2])
    book.learn(ids_of(5), uuids[2:3])
    asked = ids_of(5, 7, 3)
    wanted = [uuids[2], uuids[0], uuids[1]]
    assert book.find(asked) == (wanted, check_of(asked, words_of(wanted)))
    assert book.unknown(ids_of(3, 4, 9)).tolist() == [4, 9]
    assert book.find(ids_of(3, 9)) is None


def test_the_checksum_tells_an_exchange_of_two(uuids):
    """A database that was set back may give an id to another provider."""
    ids = ids_of(1, 2)
    right = check_of(ids, words_of(uuids[:2]))
    assert check_of(ids, words_of([uuids[1], uuids[0]])) != right
    assert check_of(ids, words_of([uuids[0], uuids[2]])) != right
    assert check_of(ids_of(2, 1), words_of([uuids[1], uuids[0]])) == right


def test_a_forgotten_book_can_be_written_again(uuids):
    """What was wrong can be learnt again as it is now."""
    book = UUIDCache()
    book.learn(ids_of(1), uuids[:1])
    book.forget()
    book.learn(ids_of(1), uuids[1:2])
    assert book.find(ids_of(1))[0] == uuids[1:2]


def test_a_book_does_not_grow_without_bound(uuids, monkeypatch):
    """A full one begins again."""
    monkeypatch.setattr(provider_uuids, "PROVIDERS_MAX", 3)
    book = UUIDCache()
    book.learn(ids_of(1, 2), uuids[:2])
    book.learn(ids_of(3, 4), uuids[2:])
    assert book.find(ids_of(3, 4))[0] == uuids[2:]
    assert book.unknown(ids_of(1, 2)).tolist() == [1, 2]


def test_what_was_asked_before_is_found_immediately(uuids):
    """As the same list; other ids, though as many, are others."""
    book = UUIDCache()
    book.learn(ids_of(1, 2, 3, 4), uuids)
    first = book.find(ids_of(1, 2))
    assert book.find(ids_of(3, 4))[0] == uuids[2:]
    assert book.find(ids_of(2, 1))[0] == uuids[1::-1]
    assert book.find(ids_of(1, 2))[0] is first[0]
    book.forget()
    assert book.find(ids_of(1, 2)) is None


def test_few_answers_are_remembered(uuids):
    """The one asked for longest ago is put together again, and is the same."""
    book = UUIDCache()
    book.learn(ids_of(1, 2, 3, 4), uuids)
    first = book.find(ids_of(1))
    for number in range(provider_uuids.RECENT_MAX):
        book.find(ids_of(*range(1, number + 2))[::-1].copy() if number else ids_of(4))
    again = book.find(ids_of(1))
    assert again == first
    assert again[0] is not first[0]


def test_a_page_of_the_book_travels(uuids):
    """Ids and UUIDs arrive in the same order."""
    sent = ProviderUUIDs.from_values(ids=[4, 2, 9, 1], uuids=uuids)
    received = ArmillaryObject.obj_from_primitive(sent.obj_to_primitive())
    assert received.ids.tolist() == [4, 2, 9, 1]
    assert received.uuids == uuids
