"""Wrap reported values in place: the source text of an overlay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deviate.instrument.edits import Edit, Instrumented, Skipped, skip
from deviate.instrument.meaning import means_the_same, parse
from deviate.instrument.preamble import find_slot, write_preamble
from deviate.instrument.sites import Site, Tree, index_tree, locate
from deviate.instrument.source import Source, read_source
from deviate.instrument.wrap import Change, apply_changes, wrap


def instrument_source(source: bytes | str, edits: Sequence[Edit]) -> Instrumented:
    """Return `source` with `edits` made: no line moves, and all else stays byte by byte as it was.

    Parameters
    ----------
    source : bytes or str
        A Python file.
    edits : sequence of Edit
        Of two edits at one span the later becomes the outer call.

    Returns
    -------
    Instrumented
        With every edit either done or skipped for a stated reason.
    """
    try:
        read = read_source(source)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return untouched(source, edits, "unreadable", str(error))
    try:
        tree = index_tree(parse(read.text))
    except (SyntaxError, ValueError, RecursionError) as error:
        return untouched(source, edits, "unparsable", str(error))
    sites, skipped = locate_all(edits, read, tree)
    text, done, refused = write(sites, read, tree)
    return Instrumented(text=text, encoding=read.encoding, done=done, skipped=[*skipped, *refused])


def untouched(source: bytes | str, edits: Iterable[Edit], reason: str, detail: str) -> Instrumented:
    """Return `source` as it is."""
    # Latin-1 spells every byte, so that even a file in an unknown encoding is returned as it was.
    text, encoding = (source, "utf-8") if isinstance(source, str) else (source.decode("latin-1"), "latin-1")
    skipped = [skip(edit, reason, detail) for edit in edits]
    return Instrumented(text=text, encoding=encoding, done=[], skipped=skipped)


def locate_all(edits: Iterable[Edit], source: Source, tree: Tree) -> tuple[list[Site], list[Skipped]]:
    """Find the expression of each edit."""
    sites: list[Site] = []
    skipped: list[Skipped] = []
    for edit in edits:
        site = locate(edit, source, tree)
        if isinstance(site, Site):
            sites.append(site)
        else:
            skipped.append(skip(edit, site))
    return sites, skipped


def write(sites: list[Site], source: Source, tree: Tree) -> tuple[str, list[Edit], list[Skipped]]:
    """Return the text with all of `sites` wrapped that can be, the edits done and the others."""
    text, refused = compose(sites, source, tree)
    if means_the_same(source.text, text):
        left_out = {skipped.edit for skipped in refused}
        return text, [site.edit for site in sites if site.edit not in left_out], refused
    return write_one_by_one(sites, source, tree)


def write_one_by_one(sites: list[Site], source: Source, tree: Tree) -> tuple[str, list[Edit], list[Skipped]]:
    """Wrap site after site, leaving out each with which the text would mean something else."""
    text, wrapped, skipped = source.text, list[Site](), list[Skipped]()
    for site in sites:
        candidate, refused = compose([*wrapped, site], source, tree)
        if refused:
            skipped += refused
        elif means_the_same(source.text, candidate):
            text, wrapped = candidate, [*wrapped, site]
        else:
            skipped.append(skip(site.edit, "changes-meaning"))
    return text, [site.edit for site in wrapped], skipped


def compose(sites: list[Site], source: Source, tree: Tree) -> tuple[str, list[Skipped]]:
    """Return the text with `sites` wrapped and the preamble in it, and the edits that cannot be written."""
    slot = find_slot(tree.module, source, sites)
    changes: set[Change] = set()
    skipped: list[Skipped] = []
    functions: set[str] = set()
    for number, site in enumerate(sites):
        wrapped = wrap(site, number, source, tree.parents, self_reliant=slot is None)
        if isinstance(wrapped, str):
            skipped.append(skip(site.edit, wrapped))
            continue
        changes.update(wrapped)
        functions.add(site.edit.function)
    if slot is not None and functions:
        preamble = slot.before + write_preamble(functions) + slot.after
        # Of all that may start at this place, the preamble comes first.
        changes.add(Change(slot.offset, slot.offset, preamble, (-2, 0, 0) if slot.after else (2, 0, 0)))
    return apply_changes(source.text, changes), skipped
