"""Server groups: affinity and anti-affinity between servers."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN_OR_EMPTY,
    LINKS,
    OBJECT,
    PAGE,
    STRING,
    STRINGS,
    Schema,
    changed,
    every,
    fields,
    integer,
    listed,
    name,
    own,
    since,
    until,
)
from objects.instances.instance_group import AFFINITY, ANTI_AFFINITY, POLICIES

_POLICY: Schema = {"enum": list(POLICIES)}
_FIRST_POLICY = changed((2, 15), before={"enum": [AFFINITY, ANTI_AFFINITY]}, after=_POLICY)

CREATE = every(
    {
        "server_group": fields(
            {
                "name": name(),
                "policy": since(2, 64, _POLICY),
                "policies": until(2, 63, {**listed(_FIRST_POLICY), "minItems": 1, "maxItems": 1}),
                "rules": since(
                    2,
                    64,
                    fields(
                        {
                            "max_server_per_host": integer(minimum=1),
                            "topology_key": name(),
                            "max_skew": integer(minimum=1),
                        }
                    ),
                ),
            },
            required=["name", "policy", "policies"],
        )
    }
)

INDEX_QUERY = fields({**PAGE, "offset": integer(), "all_projects": BOOLEAN_OR_EMPTY})

GROUP = every(
    {
        "id": STRING,
        "name": STRING,
        "policy": since(2, 64, STRING),
        "policies": until(2, 63, STRINGS),
        "rules": since(2, 64, OBJECT),
        "members": STRINGS,
        "metadata": until(2, 63, OBJECT),
        "project_id": since(2, 13, STRING),
        "user_id": since(2, 13, STRING),
    }
)

SHOW_ANSWER = every({"server_group": GROUP})
INDEX_ANSWER = fields(
    {"server_groups": listed(GROUP), "server_groups_links": own(LINKS)}, required=["server_groups"]
)
