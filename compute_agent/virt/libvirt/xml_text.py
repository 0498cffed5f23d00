"""XML that libvirt gives and takes, to elements and back."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element


def parse(text: str) -> Element:
    """Return the root of a document of the host's own libvirt. Raises ValueError."""
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - libvirt wrote it, not a user
    except ElementTree.ParseError as error:
        raise ValueError(f"libvirt gave what is no XML: {error}") from error


def write(element: Element) -> str:
    """Return an element as a text, without what follows it where it was found."""
    return ElementTree.tostring(element, encoding="unicode").strip()
