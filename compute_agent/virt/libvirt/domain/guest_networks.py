"""libvirt network of each guest, and the filter between guests on it."""

from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.names.identifiers import mac_address
from objects.instance import Instance


def network_of(instance: Instance, conf: cfg.ConfigOpts) -> str | None:
    """Return the network of a guest's interface: its flavor's, its project's, or that of all."""
    options = conf.libvirt
    for networks, name in (
        (options.flavor_networks, instance.flavor.name),
        (options.project_networks, instance.project_id),
    ):
        if name in networks:
            return str(networks[name])
    network: str | None = options.network
    return network


def names_in(conf: cfg.ConfigOpts) -> set[str]:
    """Return the networks that guests of this host may be in."""
    options = conf.libvirt
    names = [options.network, *options.flavor_networks.values(), *options.project_networks.values()]
    return {str(name) for name in names if name is not None}


def macs_of(instance: Instance, conf: cfg.ConfigOpts) -> list[str]:
    """Return the MAC addresses of a guest's interfaces."""
    return [] if network_of(instance, conf) is None else [mac_address(instance.uuid)]


def filter_of(conf: cfg.ConfigOpts) -> str | None:
    """Return the name of the filter that guests' interfaces get, None for none."""
    name: str | None = conf.libvirt.network_filter or None
    return name


def check(conf: cfg.ConfigOpts, library: Any, opened: Any) -> None:
    """Raise ConfigurationError if a network or the filter is not known to the daemon."""
    names = names_in(conf)
    for network in sorted(names):
        _find(library, opened.networkLookupByName, network, "network")
    if names and (name := filter_of(conf)) is not None:
        _find(library, opened.nwfilterLookupByName, name, "network_filter")


def _find(library: Any, lookup: Any, name: str, option: str) -> None:
    try:
        lookup(name)
    except library.libvirtError as error:
        if error.get_error_code() == library.VIR_ERR_NO_SUPPORT:  # libvirt's test driver
            return
        raise exception.ConfigurationError(
            reason=f"[libvirt] {option}: libvirt's daemon has none of the name {name}: {error}; "
            "define it (virsh net-define, virsh nwfilter-define), or change the option"
        ) from error
