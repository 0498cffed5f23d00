"""Errors that callers can act on: one class per fact, in families that map to HTTP statuses.

oslo.messaging rebuilds an error on the caller's side from its arguments, and only if its class is
in an allowed module, which is this one. An error that crosses processes must therefore be defined
in a module of this package, with plain values as its facts.
"""

from armillary.exception.access import *
from armillary.exception.compute import *
from armillary.exception.families import *
from armillary.exception.placement import *
from armillary.exception.records import *
from armillary.exception.scheduling import *
from armillary.exception.services import *

for _each in list(vars().values()):
    if isinstance(_each, type) and issubclass(_each, ArmillaryError):
        _each.__module__ = __name__
del _each
