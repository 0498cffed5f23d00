"""Metadata of a server: all, and one item."""

from api.schemas.base import STRING_MAP, every, text_map

ALL = every({"metadata": text_map(is_limited=False)})
ITEM = every({"meta": {**text_map(), "minProperties": 1, "maxProperties": 1}})

ANSWER = every({"metadata": STRING_MAP})
ITEM_ANSWER = every({"meta": STRING_MAP})
