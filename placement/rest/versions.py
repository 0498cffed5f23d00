"""Versions of the Placement API."""

import re

from armillary.http.microversion import HEADER, Microversions, Version

MIN: Version = (1, 0)
MAX: Version = (1, 39)

MICROVERSIONS = Microversions(
    service="placement",
    minimum=MIN,
    maximum=MAX,
    form=re.compile(r"(?i:latest)|(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})"),
    malformed="invalid version string: {wanted}",
    unsupported="Unacceptable version header: {wanted}",
    vary=HEADER.lower(),
)
