"""Service catalogue: where each service of the deployment is."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from oslo_config import cfg

from armillary.http.call import Document

INTERFACES = ("public", "internal", "admin")
PLACEMENT_PORT = 8778

NAMES = {
    "identity": "keystone", "compute": "nova", "placement": "placement", "image": "glance",
    "network": "neutron", "volumev3": "cinder", "block-storage": "cinder",
}  # fmt: skip
"""Service type -> name that clients know; others are called by their type."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service and its address."""

    type: str
    url: str

    @property
    def id(self) -> str:
        """A stable id."""
        return hashlib.sha256(self.type.encode()).hexdigest()[:32]

    def endpoint_id(self, interface: str) -> str:
        """Return the stable id of the service at one interface."""
        return hashlib.sha256(f"{self.type} {interface}".encode()).hexdigest()[:32]


class Catalog:
    """Services at the address of this API, unless ``[identity] endpoints`` has others."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    @property
    def region(self) -> str:
        """Name of the only region."""
        return str(self._conf.identity.region)

    def origin_of(self, arrived_at: str) -> str:
        """Return the address of this API: the configured one, or where a request arrived."""
        prefix: str | None = self._conf.api.compute_link_prefix
        return (prefix or arrived_at).rstrip("/")

    def services(self, origin: str, project_id: str | None) -> list[Service]:
        """Return all services for clients that reach this API at ``origin``."""
        parts = urlsplit(origin)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        urls: dict[str, str] = {
            "identity": f"{origin}/identity/v3",
            "compute": f"{origin}/v2.1",
            "image": self._conf.glance.endpoint_override or f"{origin}/image",
            "placement": f"{parts.scheme}://{host}:{PLACEMENT_PORT}",
            **self._conf.identity.endpoints,
        }
        project = project_id or ""
        return [Service(kind, url.replace("{project_id}", project)) for kind, url in urls.items()]

    def shown(self, origin: str, project_id: str | None) -> list[Document]:
        """Return the catalogue in the form of a token."""
        return [
            {
                "id": service.id,
                "type": service.type,
                "name": NAMES.get(service.type, service.type),
                "endpoints": [
                    {
                        key: endpoint[key]
                        for key in ("id", "interface", "region", "region_id", "url")
                    }
                    for endpoint in self.endpoints(service)
                ],
            }
            for service in self.services(origin, project_id)
        ]

    def endpoints(self, service: Service) -> Iterator[Document]:
        """Yield a service's endpoints."""
        for interface in INTERFACES:
            yield {
                "id": service.endpoint_id(interface),
                "interface": interface,
                "region": self.region,
                "region_id": self.region,
                "service_id": service.id,
                "url": service.url,
                "enabled": True,
            }
