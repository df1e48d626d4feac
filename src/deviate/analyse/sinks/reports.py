"""Every report of the running code, through the project's own logging functions to those who call them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.parameters import forwarded_param
from deviate.analyse.flow.values import From, Instance, Param
from deviate.analyse.naming.words import meaning_of, words_of
from deviate.analyse.sinks.readers import elements_of, with_tag
from deviate.analyse.sinks.report import Report, report_of_call, report_of_store
from deviate.analyse.sinks.rows import receiver_text
from deviate.analyse.source.index import CallSite, Store, Unit
from deviate.analyse.source.syntax import called_name, dotted_text, passed_for
from deviate.analyse.texts.parts import tagged
from deviate.analyse.texts.reported import Part, ReportedValue, surround

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
        #: Methods that store their arguments under keys until another method reports them.
        self.storing: dict[Unit, set[str]] = {}

    def collect(self) -> list[Report]:
        """Find all reports of the running code."""
        fresh = [report for unit in self.program.running_units() for report in self.reports_in(unit)]
        self._add_keyed_stores(fresh)
        self.collected.extend(fresh)
        for number in range(MAX_ROUNDS):
            units = [unit for report in fresh for unit in self._open_channels(report)]
            if number == 0:
                units.extend(self.channels)
            fresh = self._at_callers(list(dict.fromkeys(units)))
            self.collected.extend(fresh)
        return self.collected

    def _runs(self, site: CallSite | Store) -> bool:
        return self.program.may_run(site.scope.module, site.nesting)

    def reports_in(self, unit: Unit) -> Iterator[Report]:
        """Yield what a function's own code reports, whether it runs or not."""
        calls = (site for site in unit.calls if self._runs(site) and not self._is_own(site))
        stores = (store for store in unit.stores if self._runs(store))
        reports = chain(
            (report_of_call(self.flow, site) for site in calls), (report_of_store(self.flow, store) for store in stores)
        )
        return (report for report in reports if report is not None and report.values)

    def _is_own(self, site: CallSite) -> bool:
        """Whether the call runs code of the project, which then reports by itself."""
        targets = self.program.targets(self.flow, site)
        if isinstance(site.node.func, ast.Attribute):
            names = {site.node.func.attr, "__init__", "__call__"}
            return any(target.name in names for target in targets)
        return bool(targets)

    # Channels.

    def _open_channels(self, report: Report) -> Iterator[Unit]:
        for reported in report.values:
            param = self._forwarded_param(reported)
            if param is None:
                continue
            channels = self.channels.setdefault(param.unit, [])
            self.forwarded[reported] = param
            if all(channel.param != param.name for channel in channels):
                channels.append(Channel(param.name, report.sink, self._tag_param(reported, param.unit)))
                yield param.unit

    def _forwarded_param(self, reported: ReportedValue) -> Param | None:
        """Find the parameter that a reported value is, under no name of its own."""
        if not self._is_nameless(reported):
            return None
        param = forwarded_param(self.flow, reported.expr, reported.scope)
        is_inside = param is not None and param.unit in {reported.scope.unit, reported.scope.unit.parent}
        return param if is_inside or (param is not None and param.unit.name == "__init__") else None

    def _is_nameless(self, reported: ReportedValue) -> bool:
        if reported.mapping:
            return True
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
        return param.name if param is not None and param.unit is unit else ""

    def _add_keyed_stores(self, reports: list[Report]) -> None:
        """Open functions that keep values under keys for a report that comes later: ``meters.update(loss=x)``."""
        reporting = {report.scope.module for report in reports}
        for unit in self.program.running_units():
            if unit.module in reporting or _has_text(unit):
                for param, tag in self._keyed_params(unit):
                    self.channels.setdefault(unit, []).append(Channel(param, "logger", tag))
                    self.storing[unit] = _keyed_attributes(unit)

    def is_stored_elsewhere(self, reported: ReportedValue) -> bool:
        """Whether a value under a name that varies was stored by its name elsewhere, and is reported there."""
        unit = reported.scope.unit
        if unit.owner is None or unit in self.storing:
            return False
        family = self.program.family(self.flow, unit.owner)
        served = {param.unit for param in self.served}
        stores = [names for method, names in self.storing.items() if method.owner in family and method in served]
        return any(names & _keyed_attributes(unit) for names in stores)

    def _keyed_params(self, unit: Unit) -> Iterator[tuple[str, str]]:
        if unit.kwarg and _stores_by_key(unit, self.flow, unit.kwarg):
            yield unit.kwarg, ""
            return
        key_names = [name for name in unit.parameters if name in {"key", "name", "tag", "k", "metric", "title"}]
        for name in unit.parameters:
            if key_names and name not in key_names and _stores_by_key(unit, self.flow, name):
                yield name, key_names[0]
                return

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


def _stores_by_key(unit: Unit, flow: Evaluator, name: str) -> bool:
    """Whether a function stores a parameter under a key that varies."""
    param = Param(unit, name)
    for store in unit.stores:
        key = store.target.slice if isinstance(store.target, ast.Subscript) else None
        if key is None or isinstance(key, ast.Constant) or param not in flow.value(store.value, store.scope).origins:
            continue
        if not flow.value(key, store.scope).has(From.COUNT):
            return True
    return any(
        _adds_by_key(site.node) and param in flow.value(site.node.args[0], site.scope).origins for site in unit.calls
    )


def _keyed_attributes(unit: Unit) -> set[str]:
    """Attributes of the object whose items a method reads or writes under keys that vary: ``self.rows[key]``."""
    return {
        node.value.attr
        for node in ast.walk(unit.node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)
        and not isinstance(node.slice, (ast.Constant, ast.Slice))
    }  # fmt: skip


def _adds_by_key(call: ast.Call) -> bool:
    """``self.meters[key].update(value)``, ``self.rows.setdefault(key, []).append(value)``."""
    func = call.func
    is_keyed = isinstance(func, ast.Attribute) and (
        isinstance(func.value, ast.Subscript)
        or (isinstance(func.value, ast.Call) and called_name(func.value) == "setdefault")
    )
    return is_keyed and bool(call.args) and called_name(call) in {"update", "append", "add"}
