"""Parsing and serialisation of libvirt's XML."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element


def parse(text: str) -> Element:
    """Return the root of a document from the host's own libvirt. Raises ValueError."""
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - written by libvirt, not by a user
    except ElementTree.ParseError as error:
        raise ValueError(f"libvirt returned invalid XML: {error}") from error


def write(element: Element) -> str:
    """Return an element as text, without its tail."""
    return ElementTree.tostring(element, encoding="unicode").strip()
