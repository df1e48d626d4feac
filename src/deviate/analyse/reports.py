"""Every report of the running code, through the project's own logging functions to those who call them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deviate.analyse.abstract import COUNT, TEXT, Instance, Param
from deviate.analyse.handing import source_param
from deviate.analyse.index import CallSite, Unit, under_main_guard
from deviate.analyse.kept import elements_of
from deviate.analyse.program import Program, called_name, passed_for
from deviate.analyse.sinks import Report, report_of_call, report_of_store, with_tag
from deviate.analyse.texts import Part, Shown, dotted_text, surround, tagged
from deviate.analyse.words import meaning_of, words_of

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Loggers that call loggers are followed this often.
MAX_ROUNDS = 4


@dataclass(frozen=True, eq=True)
class Channel:
    """A parameter of a project's function whose argument is reported."""

    param: str
    sink: str
    #: Parameter that names the value.
    tag: str = ""


class Reports:
    """Collects reports and the functions that pass on what they are given."""

    def __init__(self, flow: Flow, program: Program) -> None:
        self.flow = flow
        self.program = program
        self.found: list[Report] = []
        self.channels: dict[Unit, list[Channel]] = {}
        #: Shown values that only hand on an argument: reported where it is given.
        self.passed_on: dict[Shown, Param] = {}
        #: Channels through which a caller's own value was found.
        self.served: set[Param] = set()
        #: Methods that keep their arguments under keys until another method shows them.
        self.keeping: dict[Unit, set[str]] = {}

    def collect(self) -> list[Report]:
        """Find all reports of the running code."""
        fresh = [report for unit in self._units() for report in self._direct(unit)]
        self._add_keyed_stores(fresh)
        for _ in range(MAX_ROUNDS):
            self.found.extend(fresh)
            units = [unit for report in fresh for unit in self._open_channels(report)]
            if self._first_round:
                units.extend(self.channels)
                self._first_round = False
            fresh = self._at_callers(list(dict.fromkeys(units)))
            if not fresh:
                break
        else:
            self.found.extend(fresh)
        return self.found

    _first_round = True

    def _units(self) -> Iterator[Unit]:
        for module in self.program.modules:
            for unit in module.units:
                if unit in self.program.reached:
                    yield unit

    def _runs(self, site: CallSite) -> bool:
        return site.scope.module is self.program.entry or not under_main_guard(site.place)

    def _direct(self, unit: Unit) -> Iterator[Report]:
        for site in unit.calls:
            if self._runs(site) and not self._is_own(site):
                report = report_of_call(self.flow, site)
                if report is not None and report.shown:
                    yield report
        for target, value, scope, place, statement in unit.stores:
            if unit.module is self.program.entry or not under_main_guard(place):
                report = report_of_store(self.flow, target, value, scope, place, statement)
                if report is not None and report.shown:
                    yield report

    def _is_own(self, site: CallSite) -> bool:
        """Whether the call runs code of the project, which then reports by itself."""
        targets = self.program.targets(self.flow, site)
        if isinstance(site.node.func, ast.Attribute):
            named = {site.node.func.attr, "__init__", "__call__"}
            return any(one.name in named for one in targets)
        return bool(targets)

    def shown_in(self, unit: Unit) -> Iterator[Report]:
        """Yield what a function's own code reports, whether it runs or not."""
        yield from self._direct(unit)

    # Channels.

    def _open_channels(self, report: Report) -> Iterator[Unit]:
        for shown in report.shown:
            for param in self._handed_on(shown):
                channel = Channel(param.name, report.sink, self._tag_param(shown, param.unit))
                known = self.channels.setdefault(param.unit, [])
                self.passed_on[shown] = param
                if all(one.param != channel.param for one in known):
                    known.append(channel)
                    yield param.unit

    def _handed_on(self, shown: Shown) -> list[Param]:
        """Parameters that a shown value only hands on, under no name of its own."""
        if not self._is_nameless(shown):
            return []
        param = source_param(self.flow, shown.expr, shown.scope)
        if param is None or (param.unit.name != "__init__" and not _is_inside(shown, param.unit)):
            return []
        return [param]

    def _is_nameless(self, shown: Shown) -> bool:
        if shown.mapping:
            return True
        if shown.tag:
            return not re.search(r"[A-Za-z]", re.sub(r"\{[^}]*\}", "", shown.tag))
        before = shown.before[-40:]
        if not any(len(word) > 2 for word in words_of(before)):
            return True
        return meaning_of(before) is None and self.flow.resolved(shown.expr, shown.scope).has(TEXT)

    def _tag_param(self, shown: Shown, unit: Unit) -> str:
        if shown.label is None:
            return ""
        param = source_param(self.flow, shown.label, shown.scope)
        return param.name if param is not None and param.unit is unit else ""

    def _add_keyed_stores(self, reports: list[Report]) -> None:
        """Open functions that keep values under keys for a report that comes later: ``meters.update(loss=x)``."""
        reporting = {report.scope.module for report in reports}
        for unit in self._units():
            if unit.module in reporting or _has_text(unit):
                for param, tag in self._kept_under_key(unit):
                    self.channels.setdefault(unit, []).append(Channel(param, "logger", tag))
                    self.keeping[unit] = _keyed_attributes(unit)

    def shows_kept(self, shown: Shown) -> bool:
        """Whether a value under a name that varies was kept by its name elsewhere, where it was found."""
        unit = shown.scope.unit
        if unit.owner is None or unit in self.keeping:
            return False
        family = self.program.family(self.flow, unit.owner)
        stored = [names for one, names in self.keeping.items() if one.owner in family and self._is_served(one)]
        return any(names & _keyed_attributes(unit) for names in stored)

    def _is_served(self, unit: Unit) -> bool:
        return any(one.unit is unit for one in self.served)

    def _kept_under_key(self, unit: Unit) -> Iterator[tuple[str, str]]:
        if unit.kwarg and _stores_by_key(unit, self.flow, unit.kwarg):
            yield unit.kwarg, ""
            return
        keys = [name for name in unit.parameters if name in {"key", "name", "tag", "k", "metric", "title"}]
        for name in unit.parameters:
            if keys and name not in keys and _stores_by_key(unit, self.flow, name):
                yield name, keys[0]
                return

    # Callers.

    def _at_callers(self, units: list[Unit]) -> list[Report]:
        found: list[Report] = []
        for unit in units:
            for site in self.program.callers(self.flow, unit):
                if self._runs(site) and unit.name != "__init__":
                    found.extend(self._through(site, unit))
            if unit.name == "__init__" and unit.owner is not None:
                found.extend(self._through_instances(unit))
        return found

    def _through(self, site: CallSite, unit: Unit) -> Iterator[Report]:
        for channel in self.channels[unit]:
            parts = self._given(site, unit, channel)
            if not parts:
                continue
            shown = [one for one in surround(parts) if not isinstance(one.expr, ast.Constant)]
            if shown:
                self.served.add(Param(unit, channel.param))
                node = site.node
                hint = self._hint(site, unit)
                yield Report(
                    channel.sink, shown, site.scope, site.place, node.lineno, node.end_lineno or node.lineno, node, hint
                )

    def _hint(self, site: CallSite, unit: Unit) -> str:
        """Say what the object that is told calls itself."""
        func = site.node.func
        said = dotted_text(func.value) if isinstance(func, ast.Attribute) else ""
        return f"{said} {unit.owner.name}" if unit.owner is not None else said

    def _given(self, site: CallSite, unit: Unit, channel: Channel) -> list[Part]:
        call, scope = site.node, site.scope
        if channel.param == unit.kwarg:
            named = [key for key in call.keywords if key.arg is None or key.arg not in unit.parameters]
            return [part for key in named for part in [*tagged(self.flow, key.arg, key.value, scope), "\n"]]
        # A list of pairs brings its tags along.
        tags = passed_for(call, unit, channel.tag) if channel.tag not in {"", channel.param} else []
        parts: list[Part] = []
        for value in passed_for(call, unit, channel.param):
            if tags:
                parts.extend(with_tag(self.flow, tags[0], value, scope))
            else:
                parts.extend(elements_of(self.flow, value, scope))
        return parts

    def _through_instances(self, init: Unit) -> Iterator[Report]:
        """Objects given to a constructor and shown by another method of the object."""
        methods = {shown.scope.unit for shown, param in self.passed_on.items() if param.unit is init}
        for method in sorted(methods, key=lambda one: (one.module.file, getattr(one.node, "lineno", 0))):
            for site in self.program.callers(self.flow, method):
                if not self._runs(site) or not isinstance(site.node.func, ast.Attribute):
                    continue
                yield from self._shown_by(site, site.node.func.value, init)

    def _shown_by(self, site: CallSite, receiver: ast.expr, init: Unit) -> Iterator[Report]:
        for ref in self.flow.value(receiver, site.scope).refs:
            if not isinstance(ref, Instance) or ref.made is None or ref.scope is None:
                continue
            parts: list[Part] = []
            for channel in self.channels[init]:
                for value in passed_for(ref.made, init, channel.param):
                    parts.extend(elements_of(self.flow, value, ref.scope))
            shown = [replace(one, before="", after="") for one in surround(parts) if dotted_text(one.expr)]
            node = site.node
            if shown:
                self.served.update(Param(init, channel.param) for channel in self.channels[init])
                yield Report("print", shown, site.scope, site.place, node.lineno, node.end_lineno or node.lineno, node)


def _is_inside(shown: Shown, unit: Unit) -> bool:
    return shown.scope.unit is unit or shown.scope.unit.parent is unit


def _has_text(unit: Unit) -> bool:
    return unit.owner is not None and ("__str__" in unit.owner.methods or "__repr__" in unit.owner.methods)


def _stores_by_key(unit: Unit, flow: Flow, name: str) -> bool:
    wanted = Param(unit, name)
    for target, value, scope, _, _ in unit.stores:
        keyed = isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant)
        if keyed and wanted in flow.value(value, scope).origins and not flow.value(target.slice, scope).has(COUNT):  # type: ignore[attr-defined]
            return True
    return any(
        _feeds_by_key(site.node) and wanted in flow.value(site.node.args[0], site.scope).origins for site in unit.calls
    )


def _keyed_attributes(unit: Unit) -> set[str]:
    """Attributes of the object whose items a method reads or writes under keys that vary: ``self.rows[key]``."""
    return {
        node.value.attr
        for node in ast.walk(unit.node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)
        and not isinstance(node.slice, (ast.Constant, ast.Slice))
    }  # fmt: skip


def _feeds_by_key(call: ast.Call) -> bool:
    """``self.meters[key].update(value)``, ``self.rows.setdefault(key, []).append(value)``."""
    func = call.func
    named = isinstance(func, ast.Attribute) and (
        isinstance(func.value, ast.Subscript)
        or (isinstance(func.value, ast.Call) and called_name(func.value) == "setdefault")
    )
    return named and bool(call.args) and called_name(call) in {"update", "append", "add"}
