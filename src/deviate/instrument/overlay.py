"""Wrap reported values on their lines: the source text of an overlay."""

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
        tree = index_tree(parse(decoded.text))
    except (SyntaxError, ValueError, RecursionError) as error:
        return unchanged(source, edits, "unparsable", str(error))
    sites, not_located = locate_all(edits, decoded, tree)
    text, done, not_written = write(sites, decoded, tree)
    return Instrumented(text=text, encoding=decoded.encoding, done=done, skipped=[*not_located, *not_written])


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


def write(sites: list[Site], source: Source, tree: Tree) -> tuple[str, list[Edit], list[Skipped]]:
    """Return the text with every site wrapped that can be, the edits done and the edits skipped."""
    text, skipped = compose(sites, source, tree)
    if means_the_same(source.text, text):
        not_written = {each.edit for each in skipped}
        return text, [site.edit for site in sites if site.edit not in not_written], skipped
    return write_singly(sites, source, tree)


def write_singly(sites: list[Site], source: Source, tree: Tree) -> tuple[str, list[Edit], list[Skipped]]:
    """Wrap one site after the other; skip each site whose wrap changes the meaning of the text."""
    text, wrapped, skipped = source.text, list[Site](), list[Skipped]()
    for site in sites:
        candidate, not_written = compose([*wrapped, site], source, tree)
        if not_written:
            skipped += not_written
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
    for index, site in enumerate(sites):
        wrapping = wrap(site, index, source, tree.parents, self_reliant=slot is None)
        if isinstance(wrapping, str):
            skipped.append(skip(site.edit, wrapping))
            continue
        changes.update(wrapping)
        functions.add(site.edit.function)
    if slot is not None and functions:
        preamble = slot.before + write_preamble(functions) + slot.after
        # The preamble comes before every other change at this offset.
        changes.add(Change(slot.offset, slot.offset, preamble, (-2, 0, 0) if slot.after else (2, 0, 0)))
    return apply_changes(source.text, changes), skipped
