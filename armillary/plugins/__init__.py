"""The stable place from which plugins of third parties import.

``scheduler`` is for filters, weighers, request filters and scheduler drivers, ``compute`` for
compute drivers and monitors, ``conductor`` for service group drivers, ``kinds`` for kinds of
resources, ``testing`` for tests of plugins. Names in ``__all__`` of these modules keep their
meaning within a major version; all other modules of Armillary may change at any time.
They are modules of their own, so that a compute host does not load a scheduler.
"""
