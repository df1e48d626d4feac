"""One value reported in several places, or under several names, is one metric."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass, replace
from functools import cached_property

from deviate.core.experiment import Capture
from deviate.lexicon.words import meaning_of, plain
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import From, Param
from deviate.source.framework_metrics import is_framework_logged
from deviate.source.index import Scope, Unit, enclosing_branches, enclosing_loops, local_bindings, surely_bound
from deviate.source.metrics.capture import conversion, converted, factor, numeric_part
from deviate.source.metrics.finding import Finding
from deviate.source.metrics.names import plain_variable, statistic_of
from deviate.source.sinks.rows import Report
from deviate.source.syntax import text_of

# What a loop reports in some rounds here and in others there, or once more when it is done: one value, of each place.


def is_left_behind(one: Report, other: Report) -> bool:
    """Whether only one of two reports of a function is in a loop, in some of its rounds, and the other after the loop.

    The last round need not be among those that report: ``if step % 50 == 0: print(loss.avg)``.
    """
    inner, outer = (one, other) if one.line < other.line else (other, one)
    if inner.scope is not outer.scope:
        return False
    around = enclosing_loops(outer.nesting)
    left = next((loop for loop in reversed(enclosing_loops(inner.nesting)) if loop not in around), None)
    if not isinstance(left, ast.stmt) or outer.line <= (left.end_lineno or left.lineno):
        return False
    return _is_conditional(inner, left)


def are_branches(one: Report, other: Report) -> bool:
    """Whether two reports are in different branches of one condition: of each round one of them is made."""
    branches = dict(enclosing_branches(one.nesting))
    return any(branches.get(node, branch) != branch for node, branch in enclosing_branches(other.nesting))


def _are_of_some_rounds(one: Report, other: Report) -> bool:
    """Whether two lines of one kind in one loop report some rounds each: every hundredth, and the one that ends it."""
    loops = enclosing_loops(one.nesting)
    if not loops or one.scope is not other.scope or one.sink != other.sink or loops != enclosing_loops(other.nesting):
        return False
    return all(_is_conditional(each, loops[0]) for each in (one, other))


def _is_conditional(report: Report, loop: ast.AST) -> bool:
    """Whether a condition within a loop decides whether a report of it is made."""
    nesting = report.nesting
    while nesting is not None and nesting.node is not loop:
        if isinstance(nesting.node, ast.If):
            return True
        nesting = nesting.outer
    return False


def further_capture(first: Finding, second: Finding) -> Capture | None:
    """Say how `second` is recorded as a value of the metric of `first`; None where it may be another value."""
    known, added = first.capture, second.capture
    if known is None or added is None or added.span is None or not {known.how, added.how} <= {"value", "beside"}:
        return None
    if known.label != added.label or _place(first, known) != _place(second, added):
        return None
    if added.reads == known.reads:
        return added
    # The attributes that lead to the number are the same for all records of a metric.
    place = known.beside if known.reads else _place(second, added)
    return Capture(how="beside", span=added.span, beside=place, reads=known.reads, label=known.label)


def are_other_values(first: Finding, second: Finding) -> bool:
    """Whether two expressions of one variable are other numbers: a count of hits, and the share of hits."""
    captures = first.capture, second.capture
    return all(each is not None and each.how == "value" for each in captures) and further_capture(first, second) is None


def _place(finding: Finding, capture: Capture) -> str:
    """Return the text of the number itself, ``losses.avg``; of a mean, of its sum: it may be over the rounds so far."""
    if capture.how == "beside":
        return f"{capture.beside}.{capture.reads}".rstrip(".")
    node = numeric_part(finding.reported)
    while (inner := conversion(node)) is not None:
        node = inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{text_of(node.left)} /"
    return text_of(node)


def merge(flow: Evaluator, findings: list[Finding]) -> list[Finding]:
    """Join the reports of one value; values of different parts of the data stay apart.

    Values of one function are one where they have one root or are one expression; values of two functions where the
    one passes its value to the other.
    """
    groups: dict[tuple[Unit, bool], list[tuple[Finding, Identity]]] = {}
    order: dict[int, int] = {}
    for position, finding in enumerate(findings):
        identity = identity_of(flow, finding.reported.expr, finding.reported.scope)
        group = groups.setdefault((identity.computed_in or finding.reported.scope.unit, finding.reported.mapping), [])
        same = next(
            (at for at, (other, its) in enumerate(group) if _is_same(flow, finding, identity, other, its)), None
        )
        if same is None:
            order[id(finding)] = position
            group.append((finding, identity))
        else:
            other, its = group[same]
            best = _joined(other, finding, identity.is_same(its))
            order[id(best)] = order.pop(id(other))
            group[same] = (best, its if best is other else identity)
    merged = [finding for group in groups.values() for finding, _ in group]
    return sorted(merged, key=lambda finding: order[id(finding)])


def _is_same(flow: Evaluator, finding: Finding, identity: Identity, other: Finding, its: Identity) -> bool:
    # First what tells most apart: a program may report thousands of values, and each is compared with the others.
    is_one = not finding.reported.reads and not other.reported.reads and identity.is_same(its)
    if is_one and _reads_anew(flow, finding, identity, its):
        return False
    if not is_one and finding.variable != other.variable:
        return False
    if finding.split and other.split and finding.split != other.split:
        return False
    if (finding.report is other.report and _tags_differ(finding, other)) or _sums_differ(finding, other):
        return False
    if _are_calls_apart(finding, other) or _are_computed_apart(finding, other):
        return False
    if _is_given_anew(flow, finding, other) or _is_iterated_anew(finding, other) or _is_alternative(finding, other):
        return False
    if is_left_behind(finding.report, other.report) and are_other_values(finding, other):
        return False
    if statistic_of(finding.reported.expr) != statistic_of(other.reported.expr):
        return False
    if finding.variable == other.variable and _is_rate(finding) != _is_rate(other):
        return False
    both_logged = is_framework_logged(finding.capture) and is_framework_logged(other.capture)
    if both_logged and finding.capture != other.capture:
        return False
    named_apart = (
        finding.variable.endswith("()") and not _is_plain(finding) and plain(finding.name) != plain(other.name)
    )
    if finding.variable == other.variable and identity.computed_in is its.computed_in and not named_apart:
        return True
    return is_one


def _are_calls_apart(finding: Finding, other: Finding) -> bool:
    """Whether one function is called for different things: ``score(truth, found)``, ``score(near, found)``."""
    one, another = converted(finding.reported.expr), converted(other.reported.expr)
    if not (isinstance(one, ast.Call) and isinstance(another, ast.Call)) or text_of(one.func) != text_of(another.func):
        return False
    return list(map(text_of, one.args)) != list(map(text_of, another.args))


def _are_computed_apart(finding: Finding, other: Finding) -> bool:
    """Whether two values are computed of one and of constants, each under its own name: ``error``, ``1 - error``."""
    nodes = [converted(numeric_part(each.reported)) for each in (finding, other)]
    texts = [*map(text_of, nodes)]
    if plain(finding.name) == plain(other.name) or texts[0] == texts[1]:
        return False
    return any(all(_is_made_of(node, base) for node in nodes) for base in (*texts, finding.variable))


def _is_made_of(node: ast.expr, base: str) -> bool:
    if isinstance(node, ast.Constant) or text_of(node) == base:
        return True
    if isinstance(node, ast.BinOp):
        return _is_made_of(node.left, base) and _is_made_of(node.right, base)
    if isinstance(node, ast.UnaryOp):
        return _is_made_of(node.operand, base)
    return isinstance(node, ast.Call) and bool(node.args) and all(_is_made_of(each, base) for each in node.args)


def _tags_differ(finding: Finding, other: Finding) -> bool:
    """Whether one mapping holds the two values under two constant keys."""
    tags = finding.reported.tag, other.reported.tag
    return all(tags) and tags[0] != tags[1] and "{" not in tags[0] + tags[1]


def _sums_differ(finding: Finding, other: Finding) -> bool:
    """Whether two values are sums of different things, each under its own name: ``nll / n``, ``(nll + kl) / n``."""
    if _is_plain(finding) or _is_plain(other) or plain(finding.name) == plain(other.name):
        return False
    return _summed(finding.reported.expr) != _summed(other.reported.expr)


def _summed(expr: ast.expr) -> set[str]:
    """Return what a value is the sum of, where it is one of several variables."""
    added = (node for node in ast.walk(expr) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add))
    sides = (side for node in added for side in (node.left, node.right))
    summed = {text_of(side) for side in sides if not isinstance(side, (ast.Constant, ast.BinOp))}
    return summed if len(summed) > 1 else set()


def _is_given_anew(flow: Evaluator, finding: Finding, other: Finding) -> bool:
    """Whether a name is given another value between its two reports: ``loss = train()``, then ``loss = test()``.

    So it is with what is computed of such names: ``accuracy_score(labels, predictions)``. Each reading of a clock is
    another value.
    """
    scope = finding.reported.scope
    if finding.variable != other.variable or scope is not other.reported.scope:
        return False
    nodes = [_holder(converted(one.reported.expr)) for one in (finding, other)]
    if all(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) for node in nodes):
        nodes = [_named_in(node, finding.variable) for node in nodes]  # ``time() - start``
    if all(isinstance(node, ast.Call) for node in nodes) and text_of(nodes[0]) == text_of(nodes[1]):
        pairs = list(zip(*(node.args for node in nodes if isinstance(node, ast.Call)), strict=True))
    else:
        pairs = [(nodes[0], nodes[1])]
    return any(_differs(flow, one, another, scope) for one, another in pairs)


def _reads_anew(flow: Evaluator, finding: Finding, identity: Identity, its: Identity) -> bool:
    """Whether equal expressions read a name that was given another value in between: ``time() - start``, twice."""
    nodes = identity.node, its.node
    if nodes[0] is nodes[1]:
        return False
    pairs = zip(*([part for part in ast.walk(node) if isinstance(part, ast.Name)] for node in nodes), strict=False)
    return any(_differs(flow, one, another, finding.reported.scope) for one, another in pairs if one.id == another.id)


def _differs(flow: Evaluator, one: ast.expr, another: ast.expr, scope: Scope) -> bool:
    """Whether a name that is read twice was surely given another value in between."""
    names = [node for node in (one, another) if isinstance(node, ast.Name)]
    given = [surely_bound(name, local_bindings(name.id, scope)) for name in names]
    values = [binding.value for binding in given if binding is not None and binding.value is not None]
    if len(values) < 2 or values[0] is values[1]:
        return False
    return text_of(values[0]) != text_of(values[1]) or flow.value(values[0], scope).has(From.CLOCK)


def _named_in(node: ast.expr, name: str) -> ast.expr:
    """Return where a name is read in an expression; the expression where it is not."""
    return next((each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name), node)


def _is_in_loop_apart(finding: Finding, other: Finding) -> bool:
    """Whether two loops, one after the other, report a value under two names: of a pretraining and of a training."""
    if finding.reported.scope is not other.reported.scope or _is_plain(finding) or _is_plain(other):
        return False
    outer = [enclosing_loops(one.report.nesting)[-1:] for one in (finding, other)]
    return all(outer) and outer[0] != outer[1] and plain(finding.name) != plain(other.name)


def _is_rate(finding: Finding) -> bool:
    """Whether something is divided by the variable: ``frames / elapsed`` is another value than ``elapsed``."""
    node = converted(finding.reported.expr)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and finding.variable in text_of(node.right)


def _holder(node: ast.expr) -> ast.expr:
    """Return what an item is taken of: ``results`` of ``results["loss"]``."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
    return node


def _is_iterated_anew(finding: Finding, other: Finding) -> bool:
    """Whether two loops of one variable run over different things: ``for key, value in losses.items()``."""
    if finding.variable != other.variable:
        return False
    if _is_in_loop_apart(finding, other):
        return True
    sources = [text_of(one) for one in map(_iterated, (finding, other)) if one is not None]
    return len(sources) == 2 and sources[0] != sources[1]


def _iterated(finding: Finding) -> ast.expr | None:
    """Find what the loop around a report runs over whose variable is reported."""
    around = enclosing_loops(finding.report.nesting)
    bindings = local_bindings(finding.variable, finding.reported.scope)
    runs_over = {each.statement: each.value for each in bindings if each.kind == "for"}
    return next((runs_over[loop] for loop in around if loop in runs_over), None)


def _is_alternative(finding: Finding, other: Finding) -> bool:
    """Whether the two branches of a condition of the training report a value, each under a name of its own."""
    if finding.switches or other.switches or _is_plain(finding) or _is_plain(other):
        return False
    return are_branches(finding.report, other.report) and plain(finding.name) != plain(other.name)


def _joined(first: Finding, second: Finding, equal: bool) -> Finding:
    """Keep the more telling of two reports, under the more telling name."""
    best, other = (second, first) if _worth(second) > _worth(first) else (first, second)
    if equal and not _is_plain(other) and not _is_plain(best) and plain(best.name) != plain(other.name):
        best.aliases.append(f"{other.name!r} ({other.report.sink})")
    # What is said of a value before the training is no name for it in the training: ``Initial loss``.
    if (equal or _is_plain(best)) and "{" not in other.name and other.early <= best.early:
        namesake = max((best, other), key=_telling)
        best.name, best.verdict = _name_for(best, namesake), replace(best.verdict, meaning=namesake.verdict.meaning)
    best.aliases.extend(other.aliases)
    best.also += [*([other.reported] if equal else []), *other.also]
    is_elsewhere = any(at(best.report, other.report) for at in (are_branches, is_left_behind, _are_of_some_rounds))
    further = further_capture(best, other) if is_elsewhere else None
    best.further += [*([further] if further else []), *(other.further if best.capture == other.capture else [])]
    best.split = best.split or other.split
    best.confidence = max(first.confidence, second.confidence)
    best.aside = first.aside and second.aside
    best.alarm = first.alarm and second.alarm
    return best


def _name_for(best: Finding, namesake: Finding) -> str:
    """Return the name of `namesake` for `best`; where only `best` is reported in a loop, without a word for its end."""
    ended = bool(enclosing_loops(best.report.nesting)) and not enclosing_loops(namesake.report.nesting)
    return (_ENDED.sub("", namesake.name, count=1) if ended else namesake.name) or best.name


def _worth(finding: Finding) -> tuple[int, ...]:
    reads = f"{finding.reported.reads} {finding.expression}"
    return (
        not finding.aside, not finding.alarm,
        finding.capture is not None, is_framework_logged(finding.capture), -finding.switches,
        not finding.early,
        bool(enclosing_loops(finding.report.nesting)), "avg" in reads or "mean" in reads,
        2 * (meaning_of(finding.name) is not None) + finding.is_share,
    )  # fmt: skip


def _telling(finding: Finding) -> int:
    """How much a name tells: nothing but the variable, something, or what kind of metric it is."""
    return 0 if _is_plain(finding) else 1 + (meaning_of(finding.name) is not None)


def _is_plain(finding: Finding) -> bool:
    """Whether nothing but its variable names a value."""
    return finding.name == plain_variable(finding.variable)


#: How names of what a loop ended with begin.
_ENDED = re.compile(r"^(final(ly)?|last)\b\W*", re.IGNORECASE)

#: Names given names are followed this far.
MAX_DEPTH = 6


@dataclass(eq=False)
class Identity:
    """The expression that computes a value, conversions and units removed."""

    node: ast.expr
    #: Reached through a name: computed where the name is given its value, not where it is reported.
    named: bool
    #: Function in which it is computed, where the one caller of the reporting function passes it.
    computed_in: Unit | None = None

    @cached_property
    def text(self) -> str:
        """Text of the expression without its conversions."""
        return text_of(_Plain().visit(copy.deepcopy(self.node)))

    def is_same(self, other: Identity) -> bool:
        """Whether two expressions are one value; two names given equal expressions may differ in time."""
        return self.node is other.node or (self.text == other.text and not (self.named and other.named))


def identity_of(flow: Evaluator, expr: ast.expr, scope: Scope) -> Identity:
    """Follow names that are bound once to the expression they were given, in the function or by its one caller."""
    node, at = converted(expr), scope
    for _ in range(MAX_DEPTH):
        assigned = _assigned(flow, node, at)
        if assigned is None:
            break
        node, at = converted(assigned[0]), assigned[1]
    named = node is not converted(expr) and not isinstance(node, ast.Name)
    return Identity(node, named, at.unit if at.unit is not scope.unit else None)


def _assigned(flow: Evaluator, node: ast.expr, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """Find what a name that is bound once in its function was given, by assignment or by the only caller."""
    bindings = local_bindings(node.id, scope) if isinstance(node, ast.Name) else []
    if len(bindings) != 1:
        return None
    binding = bindings[0]
    if binding.kind == "param" and isinstance(binding.scope, Unit):
        return _passed(flow, Param(binding.scope, binding.key))
    return (binding.value, binding.scope) if binding.kind == "assign" and not binding.path and binding.value else None


def _passed(flow: Evaluator, param: Param) -> tuple[ast.expr, Scope] | None:
    """Find what the only call of a function passes."""
    if len(flow.program.callers(flow, param.unit)) != 1:
        return None
    args = flow.program.arguments(flow, param)
    return args[0] if len(args) == 1 else None


class _Plain(ast.NodeTransformer):
    """Remove conversions everywhere in an expression."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self.visit(converted(node)) if conversion(node) is not None else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """``100. * correct / total`` is ``correct / total``."""
        if isinstance(node.op, ast.Div) and factor(node.left) is not None:
            node = ast.BinOp(converted(node.left), node.op, node.right)
        return self.generic_visit(node)
