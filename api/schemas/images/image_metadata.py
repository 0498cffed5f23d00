"""Metadata of an image: all, and one item."""

from api.schemas.base import STRING_MAP, every, text_map
from api.schemas.images.image import PROPERTY_CHARACTERS_MAX

ALL = every({"metadata": text_map(PROPERTY_CHARACTERS_MAX)})
ITEM = every(
    {"meta": {**text_map(PROPERTY_CHARACTERS_MAX), "minProperties": 1, "maxProperties": 1}}
)

ANSWER = every({"metadata": STRING_MAP})
ITEM_ANSWER = every({"meta": STRING_MAP})
