"""Versions of the Compute API, and the header that asks for Armillary's own fields."""

import re

from armillary.http.microversion import HEADER, Microversions

OLD_HEADER = "X-OpenStack-Nova-API-Version"

OWN_FIELDS_HEADER = "X-Armillary-Fields"
"""With the value 1, responses have Armillary's own fields, too."""

UNKNOWN_QUERIES_UNTIL = (2, 74)
"""Until this version unknown query parameters are ignored."""

MICROVERSIONS = Microversions(
    service="compute",
    minimum=(2, 1),
    maximum=(2, 96),
    form=re.compile(r"latest|([1-9]\d{0,5})\.(0|[1-9]\d{0,5})"),
    malformed="The version '{wanted}' is not of the form MAJOR.MINOR, such as {maximum}; request "
    f"it with '{HEADER}: compute {{maximum}}'.",
    unsupported="Version {wanted} is not supported by this API. Minimum is {minimum} and maximum "
    "is {maximum}.",
    vary=f"{HEADER}, {OLD_HEADER}, {OWN_FIELDS_HEADER}",
    old_header=OLD_HEADER,
    of_refusals=(2, 1),
)
