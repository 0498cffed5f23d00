"""Accounts of the token file: names, ids, default projects, and mistakes."""

from typing import Any

import pytest

from armillary.identity.accounts import make_accounts


def test_the_users_of_tokens_are_accounts() -> None:
    """Without a password, with the roles of their tokens."""
    accounts = make_accounts({}, [("bob", "stars", ("member",)), ("bob", "moons", ("reader",))])
    assert accounts.users["bob"].roles == {"stars": ("member",), "moons": ("reader",)}
    assert accounts.users["bob"].password is None
    assert sorted(accounts.projects) == ["moons", "stars"]


def test_a_role_of_several_tokens_is_listed_once() -> None:
    tokens = [("bob", "stars", ("member", "reader")), ("bob", "stars", ("reader", "admin"))]
    accounts = make_accounts({}, tokens)
    assert accounts.users["bob"].roles == {"stars": ("member", "reader", "admin")}


def test_ids_may_differ_from_names() -> None:
    content = {
        "projects": [{"name": "Night Sky", "id": "p1"}],
        "users": [{"name": "Älice", "id": "u1", "projects": {"Night Sky": ["member"]}}],
    }
    accounts = make_accounts(content, [])
    assert accounts.users["u1"].roles == {"p1": ("member",)}
    assert accounts.users["u1"].default_project_id == "p1"
    found = accounts.find_project(name="Night Sky")
    assert found is not None
    assert found.id == "p1"


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ({"users": [{"name": "Älice"}]}, r"users\[0\].*give it an id"),
        ({"users": [{"name": "a"}, {"name": "b", "id": "a"}]}, r"users\[1\]"),
        ({"projects": [{"name": "a"}, {"name": "a"}]}, r"projects\[1\]"),
        ({"users": [{"name": "a", "password": "secret"}]}, r"users\[0\].password.*hash-password"),
        ({"users": [{"name": "a", "default_project": "p"}]}, r"default_project.*no role in p"),
        ({"users": [{"name": "a", "projects": {"a b": ["r"]}}]}, "give it an id"),
    ],
    ids=["id", "same-id", "same-name", "plain-password", "default", "project-id"],
)
def test_a_mistake_is_named(content: dict[str, Any], where: str) -> None:
    """The place, and what to do."""
    with pytest.raises(ValueError, match=where):
        make_accounts(content, [])
