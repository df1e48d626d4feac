"""YAML of a project, which may be hostile."""

from __future__ import annotations

from typing import Any

import yaml

#: Brackets within brackets: PyYAML looks at all that are open at each word, so that thousands take minutes.
MAX_BRACKETS = 100


class _Loader(yaml.SafeLoader):
    """Refuses what nests too deeply."""

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 - as it is called
        if self.flow_level >= MAX_BRACKETS:
            raise yaml.YAMLError(f"more than {MAX_BRACKETS} brackets within one another")
        super().fetch_flow_collection_start(TokenClass)


def load_yaml(text: str) -> object:
    """Return what a text holds.

    Raises
    ------
    yaml.YAMLError
        If it is no YAML, or nests too deeply.
    """
    loaded: object = yaml.load(text, _Loader)
    return loaded


def compose_yaml(text: str) -> yaml.Node | None:
    """Return the nodes of a text, in which names that stand twice and references can be seen; None where it is empty.

    Raises
    ------
    yaml.YAMLError
        If it is no YAML, or nests too deeply.
    """
    return yaml.compose(text, _Loader)
