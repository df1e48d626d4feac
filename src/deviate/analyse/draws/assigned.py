"""What a drawn value is called where it is assigned to a name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

#: What a generative model makes examples of; noise, unlike it, may be a part of targets.
_LATENT = re.compile(r"(^|_)(z|latents?)\d*$")
#: What an agent does.
_ACTION = re.compile(r"(^|_)actions?\d*$")
#: What is chosen to be looked at by people.
SHOWN = re.compile(r"(^|_)(vis|viz|plot(ted)?|show[ns]?|display(ed)?|preview)\d*(_|$)")


def targets(statement: ast.stmt | None) -> Iterator[str]:
    """Yield the names that a statement assigns to, also those among others."""
    for target in statement.targets if isinstance(statement, ast.Assign) else []:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (part.id for part in parts if isinstance(part, ast.Name))


def is_action(statement: ast.stmt | None) -> bool:
    """Whether what is drawn is called an action, and nothing else."""
    names = list(targets(statement))
    return bool(names) and all(map(_ACTION.search, names))


def is_latent(statement: ast.stmt | None) -> bool:
    """Whether what is drawn is called a latent vector; a sum, whatever it is called, is made of more."""
    named = any(map(_LATENT.search, targets(statement)))
    return named and not any(isinstance(part, ast.Add) for part in ast.walk(statement or ast.Pass()))
