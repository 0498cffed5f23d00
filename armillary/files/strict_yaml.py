"""YAML of files written by hand: safe, and each key of a mapping once."""

from typing import Any

import yaml

_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """Reject duplicate keys, where YAML's own loader takes the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"duplicate key '{key.value}'", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(text: str) -> Any:
    """Return the value of a document. Raises yaml.YAMLError, ValueError, RecursionError."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - it is a SafeLoader
