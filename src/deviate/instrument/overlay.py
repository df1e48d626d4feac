"""Wrap reported values on their lines: the text that Python is given in the place of the author's."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from deviate.analyse.source.stack import deeply
from deviate.instrument.edits import Columns, Edit, Instrumented, Skipped, skip
from deviate.instrument.meaning import means_the_same, parse
from deviate.instrument.sites import Site, Tree, index_tree, locate
from deviate.instrument.source import Source, read_source
from deviate.instrument.wrap import Change, apply_changes, changed_columns, wrap


@deeply
def instrument_source(source: bytes | str, edits: Sequence[Edit]) -> Instrumented:
    """Return `source` with `edits` made: no line moves, and all else stays byte by byte as it was.

    Parameters
    ----------
    source : bytes or str
        A Python file.
    edits : sequence of Edit
        The later of two edits at one span becomes the outer call.

    Returns
    -------
    Instrumented
        With every edit either done or skipped for a stated reason.
    """
    try:
        decoded = read_source(source)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return unchanged(source, edits, "unreadable", str(error))
    try:
        parsed = parse(decoded.text)
        tree = index_tree(parsed)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return unchanged(source, edits, "unparsable", str(error))
    sites, not_located = locate_all(edits, decoded, tree)
    written = write(sites, decoded, tree)
    return Instrumented(
        text=written.text,
        encoding=decoded.encoding,
        source=source if isinstance(source, bytes) else source.encode(decoded.encoding),
        done=[site.edit for site in sites if site.edit not in {each.edit for each in written.skipped}],
        skipped=[*not_located, *written.skipped],
        columns=written.columns,
        imports=first_imports(parsed),
    )


def first_imports(tree: ast.Module) -> list[str]:
    """Return the modules that a file imports before it does anything else, each after the packages that it lies in.

    A relative import ends them.
    """
    modules: list[str] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            modules += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            modules.append(statement.module)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    names = (name for module in modules for name in accumulate(module.split("."), "{}.{}".format))
    return list(dict.fromkeys(names))


def unchanged(source: bytes | str, edits: Iterable[Edit], reason: str, detail: str) -> Instrumented:
    """Return `source` as it is, with all edits skipped."""
    # Latin-1 decodes every byte, so even a file in an unknown encoding is returned as it was.
    text, encoding = (source, "utf-8") if isinstance(source, str) else (source.decode("latin-1"), "latin-1")
    skipped = [skip(edit, reason, detail) for edit in edits]
    return Instrumented(text=text, encoding=encoding, done=[], skipped=skipped)


def locate_all(edits: Iterable[Edit], source: Source, tree: Tree) -> tuple[list[Site], list[Skipped]]:
    """Return the site of each edit, and the edits without one."""
    sites: list[Site] = []
    skipped: list[Skipped] = []
    for edit in edits:
        site = locate(edit, source, tree)
        if isinstance(site, Site):
            sites.append(site)
        else:
            skipped.append(skip(edit, site))
    return sites, skipped


@dataclass(frozen=True)
class Written:
    """A text with wraps in it, and the edits that are not."""

    text: str
    columns: Columns
    skipped: list[Skipped]


def write(sites: list[Site], source: Source, tree: Tree) -> Written:
    """Return the text with every site wrapped that can be."""
    written = compose(sites, source, tree)
    return written if means_the_same(source.text, written.text) else write_singly(sites, source, tree)


def write_singly(sites: list[Site], source: Source, tree: Tree) -> Written:
    """Wrap one site after the other; skip each site whose wrap changes the meaning of the text."""
    written, wrapped, skipped = compose([], source, tree), list[Site](), list[Skipped]()
    for site in sites:
        candidate = compose([*wrapped, site], source, tree)
        if candidate.skipped:
            skipped += candidate.skipped
        elif means_the_same(source.text, candidate.text):
            written, wrapped = candidate, [*wrapped, site]
        else:
            skipped.append(skip(site.edit, "changes-meaning"))
    return Written(written.text, written.columns, skipped)


def compose(sites: list[Site], source: Source, tree: Tree) -> Written:
    """Return the text with `sites` wrapped, but for those that cannot be."""
    changes: set[Change] = set()
    skipped: list[Skipped] = []
    for index, site in enumerate(sites):
        wrapping = wrap(site, index, source, tree.parents)
        if isinstance(wrapping, str):
            skipped.append(skip(site.edit, wrapping))
        else:
            changes.update(wrapping)
    return Written(apply_changes(source.text, changes), changed_columns(source, changes), skipped)
