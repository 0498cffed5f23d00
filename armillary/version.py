"""Version of Armillary."""

from importlib import metadata

PRODUCT = "Armillary"
DISTRIBUTION = "armillary"
UNINSTALLED_VERSION = "0+source"


def version_string() -> str:
    """Return the installed version, or ``0+source`` in a tree that was never installed."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return UNINSTALLED_VERSION


class VersionInfo:
    """Version in the form that oslo.reports expects."""

    def vendor_string(self) -> str:
        return PRODUCT

    def product_string(self) -> str:
        return PRODUCT

    def version_string_with_package(self) -> str:
        return version_string()
