"""Every report of the running code, through the project's own logging functions to those who call them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from deviate.lexicon.words import LOG, meaning_of, words_like, words_of
from deviate.source.flow.calls import forwarded_param
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import From, Instance, Param
from deviate.source.index import CallSite, ClassScope, ModuleIndex, Store, Unit
from deviate.source.sinks.rows import (
    Report,
    does_nothing,
    hands_on,
    names_items,
    names_metric,
    number_of,
    receiver_text,
    report_of_call,
    report_of_store,
    reports_of_returns,
)
from deviate.source.sinks.stores import Container, Kept, elements_of, kept_by, shown_by, with_tag
from deviate.source.syntax import dotted_text, passed_for
from deviate.source.text_parts import tagged
from deviate.source.texts import Part, ReportedValue, surround

#: Loggers that call loggers are followed this often.
MAX_ROUNDS = 4
#: Functions and classes that are named like these take numbers.
_LOGGERS = re.compile(
    f"{LOG}|"
    + words_like(
        "stats?|avg", "meter|record|track|statistic|metric|writer|summar|report|monitor|histor|average|tabular|scalar"
    )
    + "|(?i:(average|avg|loss|acc|time)meter)|(?i:(record|track|writ)er)(?![a-z])"
)
_REPORTING = re.compile(r"^(log|report|record|track|add_scalar|plot)\d?(_|$)")
#: Parameters that name what is reported.
_KEYS = {"key", "name", "tag", "k", "metric", "title"}


@dataclass(frozen=True, eq=True)
class Channel:
    """A parameter of a project's function whose argument is reported."""

    param: str
    sink: str
    #: Parameter that names the value.
    tag: str = ""


class Reports:
    """Collects reports, and the functions of the project that report their arguments."""

    def __init__(self, flow: Evaluator) -> None:
        self.flow = flow
        self.program = flow.program
        self.collected: list[Report] = []
        self.channels: dict[Unit, list[Channel]] = {}
        #: Values that are a parameter and no more: reported where the argument is given.
        self.forwarded: dict[ReportedValue, Param] = {}
        #: Channels through which a caller's own value is reported.
        self.served: set[Param] = set()
        #: Functions that keep their arguments under keys until another function shows the container.
        self.storing: dict[Unit, tuple[Container, ...]] = {}
        #: All functions that keep arguments under keys, and the containers that reports show.
        self._keeping: dict[Unit, list[Kept]] = {}
        self.shown: set[Container] = set()
        self._reporting: set[ModuleIndex] = set()
        self._kept_names: set[str] = set()
        self._naming: dict[Unit, bool] = {}
        self._showing: dict[Unit, bool] = {}

    def collect(self) -> list[Report]:
        """Find all reports of the running code."""
        fresh = [report for unit in self.program.running_units() for report in self.reports_in(unit)]
        keeping = ((unit, kept_by(self.flow, unit)) for unit in self.program.running_units())
        self._keeping = {unit: kept for unit, kept in keeping if kept}
        self._kept_names = {name for kept in self._keeping.values() for one in kept for _, name in one.containers}
        self.collected.extend(fresh)
        for _ in range(MAX_ROUNDS):
            units = [unit for report in fresh for unit in self._open_channels(report)]
            if self._keeping:
                units.extend(self._open_stores(fresh))
            fresh = self._at_callers(list(dict.fromkeys(units)))
            self.collected.extend(fresh)
        return self.collected

    def _runs(self, site: CallSite | Store) -> bool:
        return self.program.may_run(site.scope.unit, site.nesting)

    def reports_in(self, unit: Unit) -> Iterator[Report]:
        """Yield what a function's own code reports, whether it runs or not."""
        calls = (site for site in unit.calls if self._runs(site) and not self._is_own(site))
        stores = (store for store in unit.stores if self._runs(store))
        reports = chain(
            (report_of_call(self.flow, site) for site in calls),
            (report_of_store(self.flow, store) for store in stores),
            reports_of_returns(self.flow, unit),
        )
        return (report for report in reports if report is not None and report.values)

    def _is_own(self, site: CallSite) -> bool:
        """Whether the call runs code of the project, which then reports by itself."""
        targets = [
            unit for unit in self.program.targets(self.flow, site) if not does_nothing(unit) and not hands_on(unit)
        ]
        if isinstance(site.node.func, ast.Attribute):
            names = {site.node.func.attr, "__init__", "__call__"}
            return any(target.name in names for target in targets)
        return bool(targets)

    # Channels.

    def _open_channels(self, report: Report) -> Iterator[Unit]:
        for reported in report.values:
            param = self._forwarded_param(reported, report)
            if param is None:
                continue
            channels = self.channels.setdefault(param.unit, [])
            self.forwarded[reported] = param
            if all(channel.param != param.name for channel in channels):
                channels.append(Channel(param.name, report.sink, self._tag_param(reported, param.unit)))
                yield param.unit

    def _forwarded_param(self, reported: ReportedValue, report: Report) -> Param | None:
        """Find the parameter that a reported value is, under no name of its own or under one for several things."""
        param = forwarded_param(self.flow, reported.expr, reported.scope)
        is_mapping = param is not None and param.name == param.unit.kwarg  # each of its items has a name
        if not (is_mapping or self._is_nameless(reported)) and (
            param is None or not self._is_given_several(reported, param, report)
        ):
            return None
        is_inside = param is not None and param.unit in {reported.scope.unit, reported.scope.unit.parent}
        return param if is_inside or (param is not None and param.unit.name == "__init__") else None

    def _is_given_several(self, reported: ReportedValue, param: Param, report: Report) -> bool:
        """Whether callers pass different variables of their own for a parameter, and the report tells not which."""
        others = (one for one in report.values if one is not reported)
        if reported.label is not None or any(self.flow.resolved(one.expr, one.scope).has(From.TEXT) for one in others):
            return False
        names = {_own_name(number_of(expr)) for expr, _ in self.program.arguments(self.flow, param)}
        is_named = all(names) or sum("[" in name for name in names) > 1
        return len(names) > 1 and is_named and dotted_text(number_of(reported.expr)) == param.name

    def _is_nameless(self, reported: ReportedValue) -> bool:
        if reported.mapping:
            return not names_items(reported)
        if names_metric(reported.expr):
            return False
        if reported.tag:
            return not re.search(r"[A-Za-z]", re.sub(r"\{[^}]*\}", "", reported.tag))
        before = reported.before[-40:]
        if not any(len(word) > 2 for word in words_of(before)):
            return True
        return meaning_of(before) is None and self.flow.resolved(reported.expr, reported.scope).has(From.TEXT)

    def _tag_param(self, reported: ReportedValue, unit: Unit) -> str:
        if reported.label is None:
            return ""
        param = forwarded_param(self.flow, reported.label, reported.scope)
        if param is not None and param.unit is unit:
            return param.name
        parts = re.findall(r"\{(\w+)\}", reported.tag)  # ``f"{self.kind}/{key}"``
        return next((name for name in parts if name in unit.parameters), "")

    def _open_stores(self, reports: list[Report]) -> Iterator[Unit]:
        """Open the functions that keep values under keys in a container that one of the reports shows."""
        for report in reports:
            self._reporting.add(report.scope.module)
            for reported in report.values:
                if self._may_show(reported):
                    self.shown |= shown_by(self.flow, reported.expr, reported.scope, self._kept_names)
        for unit, kept in self._keeping.items():
            for one in kept:
                is_known = unit in self.storing or self._is_counted(unit, one)
                if not is_known and (self._is_beside(one, unit) or self._is_shown(one)):
                    self.channels.setdefault(unit, []).append(Channel(one.value, _sink_of(unit), one.key))
                    self.storing[unit] = one.containers
                    yield unit

    def _is_counted(self, unit: Unit, kept: Kept) -> bool:
        """Whether a value is kept under a number: ``results[run].append(result)``."""
        key = self.flow.param(Param(unit, kept.key)) if kept.key else None
        return key is not None and key.has(From.COUNT) and not key.has(From.TEXT, From.UNKNOWN)

    def _may_show(self, reported: ReportedValue) -> bool:
        """Whether the function of a value, or one that it calls, names a container that something is kept in."""
        unit = reported.scope.unit
        if unit not in self._showing:
            targets = (target for site in unit.calls for target in self.program.targets(self.flow, site))
            self._showing[unit] = self._names_kept(unit) or any(map(self._names_kept, targets))
        return self._showing[unit]

    def _names_kept(self, unit: Unit) -> bool:
        if unit not in self._naming:
            names = (node.id if isinstance(node, ast.Name) else node.attr for node, _, _ in unit.loads)
            self._naming[unit] = not self._kept_names.isdisjoint(names)
        return self._naming[unit]

    def _is_beside(self, kept: Kept, unit: Unit) -> bool:
        """Whether the name of the key is evidence enough: beside a report, or in a function that is named like one.

        It is not where other code reads single values out by their keys: ``meters["loss"]``.
        """
        if unit.owner is not None and "__getitem__" in unit.owner.methods:
            return False
        reports = unit.module in self._reporting or _has_text(unit) or _REPORTING.search(unit.name) is not None
        return reports and _is_by_name(kept, unit)

    def _is_shown(self, kept: Kept) -> bool:
        return any(self._is_same(one, other) for one in kept.containers for other in self.shown)

    def _is_same(self, one: Container, other: Container) -> bool:
        """Whether two containers are one, of a class or of one that it derives from."""
        if one[1] != other[1]:
            return False
        if isinstance(one[0], ClassScope) and isinstance(other[0], ClassScope):
            return other[0] in self.program.family(self.flow, one[0])
        return one[0] is other[0]

    def is_stored_elsewhere(self, reported: ReportedValue) -> bool:
        """Whether a value was kept by its name elsewhere, and is reported there."""
        at = reported.scope.unit
        home = at.enclosing_class
        family = [*self.program.family(self.flow, home)] if home is not None else [at.module]
        served = {param.unit for param in self.served}
        stores = [
            one for unit, containers in self.storing.items() if unit in served for one in containers if one[0] in family
        ]
        if not stores or at in self.storing or at is at.module.unit or not self._may_show(reported):
            return False
        shown = shown_by(self.flow, reported.expr, reported.scope, self._kept_names)
        return any(self._is_same(one, other) for one in stores for other in shown)

    # Callers.

    def _at_callers(self, units: list[Unit]) -> list[Report]:
        reports: list[Report] = []
        for unit in units:
            for site in self.program.callers(self.flow, unit):
                if self._runs(site) and unit.name != "__init__":
                    reports.extend(self._through(site, unit))
            if unit.name == "__init__" and unit.owner is not None:
                reports.extend(self._through_instances(unit))
        return reports

    def _through(self, site: CallSite, unit: Unit) -> Iterator[Report]:
        for channel in self.channels[unit]:
            parts = self._passed(site, unit, channel)
            values = [value for value in surround(parts) if not isinstance(value.expr, ast.Constant)]
            if values:
                self.served.add(Param(unit, channel.param))
                receiver = receiver_text(site.node)
                hint = f"{receiver} {unit.owner.name}" if unit.owner is not None else receiver
                yield Report(channel.sink, values, site.scope, site.nesting, site.node, hint)

    def _passed(self, site: CallSite, unit: Unit, channel: Channel) -> list[Part]:
        call, scope = site.node, site.scope
        if channel.param == unit.kwarg:
            keywords = [key for key in call.keywords if key.arg is None or key.arg not in unit.parameters]
            return [part for key in keywords for part in (*tagged(self.flow, key.arg, key.value, scope), "\n")]
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
        """Objects given to a constructor and reported by another method of the object."""
        methods = {reported.scope.unit for reported, param in self.forwarded.items() if param.unit is init}
        for method in sorted(methods, key=lambda method: method.position):
            for site in self.program.callers(self.flow, method):
                if self._runs(site) and isinstance(site.node.func, ast.Attribute):
                    yield from self._reported_by_instance(site, site.node.func.value, init)

    def _reported_by_instance(self, site: CallSite, receiver: ast.expr, init: Unit) -> Iterator[Report]:
        for ref in self.flow.value(receiver, site.scope).refs:
            if not isinstance(ref, Instance) or ref.made is None or ref.scope is None:
                continue
            parts: list[Part] = []
            for channel in self.channels[init]:
                for value in passed_for(ref.made, init, channel.param):
                    parts.extend(elements_of(self.flow, value, ref.scope))
            values = [replace(value, before="", after="") for value in surround(parts) if dotted_text(value.expr)]
            if values:
                self.served.update(Param(init, channel.param) for channel in self.channels[init])
                yield Report("print", values, site.scope, site.nesting, site.node)


def _has_text(unit: Unit) -> bool:
    return unit.owner is not None and ("__str__" in unit.owner.methods or "__repr__" in unit.owner.methods)


def _is_by_name(kept: Kept, unit: Unit) -> bool:
    """Whether values are given by keywords, or under a parameter that is called like a key."""
    return kept.key in _KEYS or (kept.key == "" and kept.value == unit.kwarg)


def _sink_of(unit: Unit) -> str:
    """Name what keeps values: a logger takes numbers, anything else may take anything."""
    owner = unit.owner.name if unit.owner is not None else ""
    return "logger" if _LOGGERS.search(f"{owner} {unit.name}") else "kept"


def _own_name(expr: ast.expr) -> str:
    """Return a variable's name, with the key of an item that is written out; empty for any other expression."""
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant) and isinstance(expr.slice.value, str):
        name = dotted_text(expr.value)
        return f"{name}[{expr.slice.value!r}]" if name else ""
    return expr.id if isinstance(expr, ast.Name) else ""
