"""Allowed values of extra specs, key by key; the API's answers are tested beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from objects.extra_specs import extra_specs

GOOD = [
    ("resources:VCPU", ["0", "4", " 2 ", "2147483647"]),
    ("resources_NET-1:CUSTOM_VF", ["1"]),
    ("trait:HW_CPU_X86_AVX", ["required", "forbidden"]),
    ("group_policy", ["none", "isolate"]),
    ("same_subtree", ["_A,_B", "1,2;_A, _B"]),
    ("hw:pmem", ["6GB", "6GB,LARGE"]),
    ("hw:mem_page_size", ["small", "large", "any", "4", "2048", "2MB", "1 GiB", "Large"]),
    ("hw:numa_nodes", ["1"]),
    ("hw:numa_cpus.0", ["0", "0-3,^2,7", "0, 1"]),
    ("hw:numa_mem.11", ["512"]),
    ("hw:cpu_dedicated_mask", ["^0", "0-1"]),
    ("hw:virtio_packed_ring", ["true", "no", "1", "Off"]),
    ("hw:maxphysaddr_bits", ["42"]),
    ("pci_passthrough:alias", ["gpu:1", "gpu:1, nic:2"]),
    ("capabilities:free_ram_mb", [">= 4", "anything", "<or> a <or> b"]),
    ("anything", ["", ">=", "<in>"]),
    ("hw:numa_cpus.x", ["?"]),
    ("quota:cpu_shares", ["many"]),
]


@pytest.mark.parametrize(
    ("key", "text"), [(key, text) for key, texts in GOOD for text in texts], ids=str
)
def test_what_may_be_said_is_not_a_mistake(key: str, text: str) -> None:
    assert extra_specs.mistake(key, text) is None


@pytest.mark.parametrize("text", ["0", "2TB", "128GB", "999999999 MiB", "huge"])
def test_page_sizes_that_no_server_may_have_are_a_mistake(text: str) -> None:
    """The same ones for which a server with the flavor would be refused."""
    assert str(extra_specs.mistake("hw:mem_page_size", text)).startswith("It must be small")


@given(
    st.text(max_size=80)
    | st.builds(
        "{}{}:{}".format,
        st.sampled_from(["resources", "trait", "capabilities", "hw"]),
        st.text(max_size=70),
        st.text(max_size=300),
    ),
    st.text(),
)
def test_any_text_is_right_or_has_a_sentence(key: str, text: str) -> None:
    """Nothing is raised, whatever it is."""
    rule = extra_specs.mistake(key, text)
    assert rule is None or (rule and not rule.endswith("."))


def test_mistakes_come_with_their_keys_in_order() -> None:
    """The first one is what a client is told."""
    specs = {"trait:X": "required", "group_policy": "x", "fine": "yes", "resources:VCPU": "x"}
    assert [key for key, _rule in extra_specs.mistakes(specs)] == [
        "group_policy",
        "resources:VCPU",
        "trait:X",
    ]


@pytest.mark.parametrize("text", ["_A,", "a b", ";", "x" * 65, ""])
def test_lists_of_suffixes_hold_suffixes(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        extra_specs.subtrees(text)
