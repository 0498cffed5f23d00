"""Provider configuration files: inventories and traits that operators add to providers.

``ProviderConfig.load`` reads ``[compute] provider_config_location`` at startup;
``provider_config_file`` validates each file. Both raise ConfigurationError with file and position,
because an agent must not start with a configuration that differs from what the operator wrote.
"""

import dataclasses
import logging
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Self

from oslo_config import cfg

from armillary import exception
from compute_agent.host import provider_config_file
from compute_agent.host.provider_config_file import COMPUTE_NODE, Entry

LOG = logging.getLogger(__name__)

FILES = "*.yaml"
FILES_MAX = 1000
NAMED_MAX = 10
"""Maximum number of providers listed in a warning."""


@dataclasses.dataclass(frozen=True, slots=True)
class Additions:
    """Additions to one provider: inventories by class, and traits."""

    inventories: Mapping[str, Mapping[str, float]]
    traits: frozenset[str]


NOTHING = Additions({}, frozenset())


@dataclasses.dataclass(frozen=True, slots=True)
class KnownProvider:
    """A provider reported by this agent, with the classes of its own inventories."""

    uuid: str
    name: str
    resource_classes: Collection[str]
    is_node: bool
    """Whether it is a compute node's provider, not a child provider."""


class ProviderConfig:
    """The entries of all files, each for one provider or, with ``$COMPUTE_NODE``, for all nodes."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._by_uuid: dict[str, Entry] = {}
        self._by_name: dict[str, Entry] = {}
        for entry in entries:
            table = self._by_name if entry.uuid is None else self._by_uuid
            key = str(entry.name if entry.uuid is None else entry.uuid)
            if key in table:
                raise _named_twice(table[key], entry, key)
            table[key] = entry

    @classmethod
    def load(cls, conf: cfg.ConfigOpts) -> Self:
        """Read the files of the directory in the order of their names.

        A missing directory counts as empty if it is the default. Raises ConfigurationError.
        """
        directory = Path(conf.compute.provider_config_location)
        if not directory.is_dir() and _is_default(conf):
            return cls()
        try:
            paths = sorted(path for path in directory.iterdir() if path.match(FILES))
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"[compute] provider_config_location: {directory} cannot be read: "
                f"{error.strerror}"
            ) from error
        if len(paths) > FILES_MAX:
            raise exception.ConfigurationError(
                reason=f"[compute] provider_config_location: {directory} has {len(paths)} files, "
                f"the maximum is {FILES_MAX}"
            )
        entries = [entry for path in paths for entry in provider_config_file.read(path)]
        if entries:
            LOG.info("Provider configuration: read %d entries from %s", len(entries), directory)
        return cls(entries)

    def additions(self, provider: KnownProvider) -> Additions:
        """Return the additions to a provider.

        Its own entry replaces the one for all nodes. Classes that the agent reports for the
        provider are omitted.
        """
        entry = self._by_uuid.get(provider.uuid) or self._by_name.get(provider.name)
        if entry is None and provider.is_node:
            entry = self._by_uuid.get(COMPUTE_NODE)
        if entry is None:
            return NOTHING
        inventories = {
            name: inventory
            for name, inventory in entry.inventories.items()
            if name not in provider.resource_classes
        }
        return Additions(inventories, entry.traits)

    def check(self, providers: Iterable[KnownProvider]) -> None:
        """Check the entries against the reported providers; warn about unknown ones.

        Raises ConfigurationError if two entries name the same provider, or an entry adds a class
        that the agent already reports for it.
        """
        known = list(providers)
        for provider in known:
            self._check_one(provider)
        uuids, names = {one.uuid for one in known}, {one.name for one in known}
        unknown = [
            *sorted(self._by_uuid.keys() - uuids - {COMPUTE_NODE}),
            *sorted(self._by_name.keys() - names),
        ]
        if unknown:
            LOG.warning(
                "Provider configuration: entries for %d unknown providers are ignored, because "
                "this agent does not report them: %s",
                len(unknown), ", ".join(unknown[:NAMED_MAX]),
            )  # fmt: skip

    def _check_one(self, provider: KnownProvider) -> None:
        by_uuid, by_name = self._by_uuid.get(provider.uuid), self._by_name.get(provider.name)
        if by_uuid is not None and by_name is not None:
            raise _named_twice(by_uuid, by_name, f"{provider.name} ({provider.uuid})")
        entry = by_uuid or by_name
        if entry is None and provider.is_node:
            entry = self._by_uuid.get(COMPUTE_NODE)
        doubled = sorted(entry.inventories.keys() & set(provider.resource_classes)) if entry else []
        if entry is not None and doubled:
            raise exception.ConfigurationError(
                reason=f"{entry.place}: provider {provider.name} already has an inventory of "
                f"{doubled[0]}, which the agent reports"
            )


def _is_default(conf: cfg.ConfigOpts) -> bool:
    found = conf.get_location("provider_config_location", "compute")
    return found is not None and found.location is cfg.Locations.opt_default


def _named_twice(first: Entry, second: Entry, what: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"{second.place}: provider {what} is listed twice, first in {first.place}"
    )
