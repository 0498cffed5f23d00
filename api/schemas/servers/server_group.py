"""Server groups: affinity and anti-affinity between servers."""

from api.schemas import base
from objects.instances.instance_group import AFFINITY, ANTI_AFFINITY, POLICIES

_POLICY: base.Schema = {"enum": list(POLICIES)}
_FIRST_POLICY = base.changed((2, 15), before={"enum": [AFFINITY, ANTI_AFFINITY]}, after=_POLICY)

CREATE = base.every(
    {
        "server_group": base.fields(
            {
                "name": base.name(),
                "policy": base.since(2, 64, _POLICY),
                "policies": base.until(
                    2, 63, {**base.listed(_FIRST_POLICY), "minItems": 1, "maxItems": 1}
                ),
                "rules": base.since(
                    2,
                    64,
                    base.fields(
                        {
                            "max_server_per_host": base.integer(minimum=1),
                            "topology_key": base.name(),
                            "max_skew": base.integer(minimum=1),
                        }
                    ),
                ),
            },
            required=["name", "policy", "policies"],
        )
    }
)

INDEX_QUERY = base.fields(
    {**base.PAGE, "offset": base.integer(), "all_projects": base.BOOLEAN_OR_EMPTY}
)

GROUP = base.every(
    {
        "id": base.STRING,
        "name": base.STRING,
        "policy": base.since(2, 64, base.STRING),
        "policies": base.until(2, 63, base.STRINGS),
        "rules": base.since(2, 64, base.OBJECT),
        "members": base.STRINGS,
        "metadata": base.until(2, 63, base.OBJECT),
        "project_id": base.since(2, 13, base.STRING),
        "user_id": base.since(2, 13, base.STRING),
    }
)

SHOW_ANSWER = base.every({"server_group": GROUP})
INDEX_ANSWER = base.fields(
    {"server_groups": base.listed(GROUP), "server_groups_links": base.own(base.LINKS)},
    required=["server_groups"],
)
