"""Persistent identity: a compute node keeps its UUID across restarts."""

import uuid
from pathlib import Path

from armillary import exception
from armillary.files import private_files

FILE_NAME = "compute_id"


class NodeIdentity:
    """The UUIDs of the hosts of one state directory.

    The file ``compute_id`` holds a UUID and, on the next line, the name of the host that it belongs
    to ([DEFAULT] host). UUIDs of the agent's other hosts are derived from it and their names.
    """

    def __init__(self, state_path: Path, own_host: str) -> None:
        self._path = state_path / FILE_NAME
        self._own_host = own_host
        self._uuid: uuid.UUID | None = None

    def load(self) -> None:
        """Read or create the file. Raises ConfigurationError if it is invalid or foreign."""
        try:
            if not self._path.exists():
                private_files.write_new(self._path, f"{uuid.uuid4()}\n{self._own_host}\n")
            lines = self._path.read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise exception.ConfigurationError(
                reason=f"{self._path} cannot be read or created: {error}"
            ) from error
        self._uuid = self._parse(lines)

    def node_uuid(self, host: str) -> str:
        """Return the UUID of a host's compute node and resource provider."""
        assert self._uuid is not None, "load() comes first"
        if host == self._own_host:
            return str(self._uuid)
        return str(uuid.uuid5(self._uuid, host))

    def _parse(self, lines: list[str]) -> uuid.UUID:
        try:
            own_uuid, host = lines
            parsed = uuid.UUID(own_uuid)
        except ValueError as error:
            raise exception.ConfigurationError(
                reason=f"{self._path} must contain a UUID and a host name; restore it, or write "
                "the UUID that `armillary host show` prints for this host, and its name"
            ) from error
        if host != self._own_host:
            raise exception.ConfigurationError(
                reason=f"{self._path} belongs to host {host}, but [DEFAULT] host is "
                f"{self._own_host}. Restore the option, give this agent its own state_path, or, if "
                "the host was renamed and its old service deleted, remove the file"
            )
        return parsed
