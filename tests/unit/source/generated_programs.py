"""Small programs that report values in every way authors do."""

from __future__ import annotations

import textwrap

from hypothesis import strategies as st

#: What the programs stand on. Every name a value may refer to is bound here.
PRELUDE = """
import asyncio, logging, os, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
log = logging.getLogger("train")
class Meter:
    def __init__(self): self.avg, self.n = 0.0, 0
    def update(self, value): self.n += 1; self.avg += value / self.n; return self
    def __str__(self): return "<%.3f>" % self.avg
    __repr__ = __str__
    def __format__(self, spec): return format(self.avg, spec or ".2f")
class Refuses:
    def __float__(self): raise RuntimeError("no float")
    def __format__(self, spec): return "refuses"
    def __repr__(self): return "Refuses()"
    def __add__(self, other): return other
def fail(): raise ValueError("from inside")
def evaluate(n=1, *rest, **named): print("evaluating", n); return n * 0.25
def show(*values, **named): print("show", values, sorted(named.items())); return values
acc, loss, correct, total, zero, width, split = 0.5, float("nan"), 7, 8, 0, 9, "val"
stats, xs, meter, refuses, nothing = {"acc": 0.75, "loss": 1e-9}, [0.1, 0.2, 0.3], Meter(), Refuses(), None
"""

STARTS = (
    "",
    "'''A training.'''\n",
    "from __future__ import annotations\n",
    "'''A training.'''\nfrom __future__ import annotations, division  # both\n",
    "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n",
    "def early():\n    return 3\n",
    "try:\n    import json\nexcept ImportError:\n    json = None\n",
    "if True:\n    print('compound')\n",
    "class First:\n    '''first'''\n    x = 3\n",
)

#: Values without a quote or a newline in them fit into every f-string.
PLAIN_VALUES = (
    "acc",
    "acc * 100",
    "100. * correct / total",
    "loss",
    "xs[-1] if xs else nothing",
    "-acc ** 2",
    "not acc",
    "acc > 0.4 and acc",
    "max(xs, key=lambda v: -v)",
    "sum(v for v in xs)",
    "[v * 2 for v in xs][0]",
    "dict({v: v for v in xs})[0.1]",
    "meter.update(acc).avg",
    "meter",
    "evaluate()",
    "evaluate(total).real",
    "round(acc, 3)",
    "xs[0:2]",
    "(acc, loss)",
    "1 / zero",
    "fail()",
    "refuses",
    "nothing",
    "xs[7]",
    "acc if zero else fail()",
    "(lambda v: v + 1)(acc)",
    "(acc)",
)
QUOTED_VALUES = (
    "stats['acc']",
    "stats['missing']",
    "stats.get('loss', 0)",
    "'%.2f' % acc",
    "dict(a=acc)['a']",
    "'ü', acc",
)
LONG_VALUES = ("evaluate(\n    1,  # one\n    )", "(acc +\n    correct)", "[acc,\n    loss]", "{'a': 1,\n    'b': acc}")

plain = st.sampled_from(PLAIN_VALUES)
single = st.sampled_from(PLAIN_VALUES + QUOTED_VALUES[:5])
value = st.sampled_from(PLAIN_VALUES + QUOTED_VALUES[:5] + LONG_VALUES)

#: Ways to report values; each is one statement.
IDIOMS = (
    ("print({})", value),
    ("print('acc', {}, {}, sep=' | ')", value, value),
    ("print(*[{}, {}], end='.\\n')", value, value),
    ("print('a %s b %s' % ({}, {}))", value, value),
    ("print('%s' % ({},))", value),
    ("print('{{}} and {{!s:>5}}'.format({}, {}))", value, value),
    ("print('{{a}}'.format(a={}))", value),
    ("print(f'acc {{{}}} {{{}!r}} {{{{literal}}}}')", plain, plain),
    ("print(f'{{{}=}} {{ {} = !s:>{{width}}}}')", plain, plain),
    ("print(f'''{{{}}}\\n''' f\"{{{}!s:{{width}}}}\")", single, plain),
    ("print(f'{{f\"{{{}}}\"}}')", plain),
    ("print('ö', f'é{{{}}}')", plain),
    ("print('acc: ' + str({}))", value),
    ("log.info('acc %s of %s', {}, {})", value, value),
    ("log.info(f'{{{}!s}}')", plain),
    ("log.debug('hidden %s', {})", value),
    ("show({{'acc': {}, 'deep': {{'x': {}}}}}, key={})", value, value, value),
    ("show(**{{'a': {}}})", value),
    ("show(*({}, {}))", value, value),
    ("print(found := {})", single),
    ("print(sum(v for v in [{}] if v is not None))", value),
    ("show({}, (yield_ := {}))[0]", value, single),
    ("sys.stdout.write(str({}) + '\\n')", value),
    ("acc, history = acc, {}", value),
    ("assert show({}), {}", value, value),
    ("print([{} for _ in range(2)], {{_: {} for _ in range(1)}})", value, value),
    ("print(show({})[0], not({}), 1 if({})else 2)", value, value, value),
    ("print({}); print({})", single, single),
)

#: Code around the statements.
CONTEXTS = (
    "{body}",
    "def function(acc=acc):\n{indented}\nfunction()",
    "for epoch in range(2):\n{indented}",
    "n = 2\nwhile n:\n    n -= 1\n{indented}",
    "with open(os.devnull) as sink:\n{indented}",
    """
try:
{indented}
except (ValueError, LookupError) as error:
    print('caught', error, error.__traceback__.tb_lineno)
finally:
    print('finally')
""",
    """
class Trainer:
    acc = 0.25
    def step(self, acc=acc):
{deeper}
        return self
Trainer().step().step()
""",
    "class Body:\n{indented}",
    """
def generate():
{indented}
    got = yield 1
    yield show(got)
for item in generate(): print(item)
""",
    "async def train():\n    await asyncio.sleep(0)\n{indented}\nasyncio.run(train())",
    """
def decorate(f):
{indented}
    return f
@decorate
def decorated(): pass
""",
    """
def outer():
    acc = 0.125
    def inner():
        nonlocal acc
{deeper}
        acc += 1
    inner()
outer()
""",
    "if acc:\n{indented}\nelse:\n    pass",
)


@st.composite
def statements(draw: st.DrawFn) -> str:
    template, *values = draw(st.sampled_from(IDIOMS))
    return template.format(*(draw(value) for value in values))


def indent(lines: list[str], depth: int) -> str:
    return textwrap.indent("\n".join(lines), "    " * depth)


@st.composite
def blocks(draw: st.DrawFn) -> str:
    lines = draw(st.lists(statements(), min_size=1, max_size=3))
    context = draw(st.sampled_from(CONTEXTS))
    return context.format(body="\n".join(lines), indented=indent(lines, 1), deeper=indent(lines, 2))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Draw a program; it may end with an exception."""
    parts = [draw(st.sampled_from(STARTS)), PRELUDE, *draw(st.lists(blocks(), min_size=1, max_size=4))]
    return "\n".join(parts) + "\n"
