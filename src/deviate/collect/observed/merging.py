"""Templates that differ in one word that varies within the log are one template."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deviate.collect.observed.mining import Lines
from deviate.collect.observed.templates import Template

#: Words in one place of otherwise equal templates, above which the word is no name: a run has fewer classes, splits
#: and layers to tell apart than this, and more names of files or samples.
MOST_NAMES = 50

#: What stands for a word that varies.
WORD = "⟨word⟩"

#: Templates with more words are left as they are.
MOST_WORDS = 60

_WORD = re.compile(r"[^\s⟨⟩]*[A-Za-z_][^\s⟨⟩]*")


def merged(templates: list[Lines]) -> list[Lines]:
    """Merge the templates that differ in one word, where it takes more than `MOST_NAMES` forms."""
    if len(templates) <= MOST_NAMES:
        return templates
    places: dict[Template, list[Lines]] = {}
    for lines in templates:
        for template in _without_a_word(lines.template):
            places.setdefault(template, []).append(lines)
    gone: set[int] = set()
    result: list[Lines] = []
    for template, alike in sorted(places.items(), key=lambda item: -len(item[1])):
        fresh = [lines for lines in alike if id(lines) not in gone]
        if len(fresh) > MOST_NAMES:
            gone.update(map(id, fresh))
            result.append(_joined(template, fresh))
    result.extend(lines for lines in templates if id(lines) not in gone)
    return sorted(result, key=lambda lines: lines.first[0])


def _without_a_word(template: Template) -> Iterator[Template]:
    """Yield a template with each of its words in turn replaced by `WORD`."""
    words = [(place, word) for place, text in enumerate(template.texts) for word in _WORD.finditer(text)]
    for place, word in words[:MOST_WORDS]:
        text = template.texts[place]
        changed = f"{text[: word.start()]}{WORD}{text[word.end() :]}"
        yield Template((*template.texts[:place], changed, *template.texts[place + 1 :]), template.lists)


def _joined(template: Template, alike: list[Lines]) -> Lines:
    joined = Lines(template, min(lines.first for lines in alike))
    for lines in alike:
        joined.add(lines)
    return joined
