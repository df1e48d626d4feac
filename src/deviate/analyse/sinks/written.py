"""Reports that are files, tables and figures."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.abstract import PATH
from deviate.analyse.index import Scope, lookup
from deviate.analyse.kept import elements_of, kept_values
from deviate.analyse.program import called_name
from deviate.analyse.sinks.parts import Told, as_mapping, spaced
from deviate.analyse.texts import Part, take_apart

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


_FILES = re.compile(r"^(f|fp|fo|fh|fd|fw|fout|f_out|file|out|output|log|logf|log_?file|stats_?file|csv_?file|"
                    r"txt|writer|"
                    r"csv_?writer|.*\.(stdout|stderr|logfile|file|log|f))$|_(f|file|log)$", re.IGNORECASE)  # fmt: skip
_FIGURES = {"plot", "semilogy", "semilogx", "loglog", "scatter"}


def file_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> Told | None:
    """Recognise what is written to a file or a table."""
    if name in {"writerow", "writerows"} and call.args:
        return "csv", take_apart(flow, call.args[0], scope)
    if name == "dump" and len(call.args) > 1 and said.endswith("json"):
        return "json", as_mapping(elements_of(flow, call.args[0], scope))
    if name in {"write", "writelines", "write_text"} and call.args:
        value = flow.value(call.args[0], scope)
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if _FILES.search(said) or flow.value(receiver, scope).has(PATH):
            return "file", spaced(flow, call.args[:1], scope) if value.origins else []
    if name in {"savez", "savez_compressed"}:
        return "file", [part for key in call.keywords for part in kept_values(flow, key.value, scope, key.arg)]
    if name in {"to_csv", "to_json", "to_excel", "to_parquet", "to_pickle", "to_feather"} and isinstance(
        call.func, ast.Attribute
    ):
        return "csv", _table(flow, call.func.value, scope)
    return None


def figure_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> Told | None:
    """Recognise what is drawn or kept to be drawn."""
    if name in _FIGURES and re.search(r"plt|ax|pyplot|pylab|axes", said) and call.args:
        return "figure", [part for one in call.args[:2] for part in kept_values(flow, one, scope)]
    if name in {"save", "savetxt"} and said in {"np", "numpy"} and len(call.args) > 1:
        return "file", kept_values(flow, call.args[1], scope)
    return None


def _table(flow: Flow, frame: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    """Find what a data frame that is written was made of."""
    if depth > 12:
        return []
    if isinstance(frame, ast.Name):
        found = lookup(frame.id, scope)
        made = [one for one in found[1] if isinstance(one.value, ast.Call)] if found else []
        return [part for one in made if one.value is not None for part in _table(flow, one.value, one.scope, depth + 1)]
    if isinstance(frame, ast.Call):
        if frame.args and called_name(frame) in {"DataFrame", "from_dict", "from_records", "Series"}:
            return as_mapping(elements_of(flow, frame.args[0], scope))
        if isinstance(frame.func, ast.Attribute):
            return _table(flow, frame.func.value, scope, depth + 1)
    return []
