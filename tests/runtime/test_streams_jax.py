"""JAX: keys are the same in every run, draws are the factors'."""

from __future__ import annotations

import textwrap

from installed import require
from programs import Outcome, Run

require("jax")

FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")
SOURCE = textwrap.dedent("""
    import jax, numpy as np, time
    from jax import random
    show = lambda name, *values: print(name, *[np.asarray(value).tolist() for value in values])
    key = random.PRNGKey(3)
    first, second = random.split(key)
    show("keys", key, first, random.fold_in(key, 1))
    show("data", __dv_draw__(0, random.permutation)(first, 9))
    show("shuffle", random.permutation(second, 9), jax.vmap(lambda k: random.permutation(k, 5))(random.split(key)))
    show("init", jax.nn.initializers.he_normal()(key, (2, 2)))
    show("other", random.normal(key), jax.jit(random.normal, static_argnums=1)(key, (2,)), random.uniform(key=key))
    clock = random.key(int(time.time()))
    show("other", random.bits(clock), random.choice(clock, 100))
    """)


def drawn(run: Run, vary: str = "", control: str | None = "streams", warm: str = "jax") -> Outcome:
    seeds = {factor: 7 + 100 * (factor == vary) for factor in FACTORS} if control == "streams" else None
    draws = [{"factor": "data", "file": "program.py", "line": 8, "call": "random.permutation"}]
    varying = [vary] if vary else []
    outcome = run(SOURCE, control=control, seeds=seeds, varying=varying, draws=draws, warm=warm)
    assert outcome.status == 0, outcome.stderr
    assert not outcome.of("note")
    return outcome


def test_each_draw_varies_with_its_factor_alone(run: Run) -> None:
    control = drawn(run, warm="").stdout
    assert drawn(run).stdout == control
    for factor in ("init", "data"):
        lines = zip(control.splitlines(), drawn(run, factor).stdout.splitlines(), strict=True)
        changed = {before.split()[0] for before, after in lines if before != after}
        assert changed == {factor}
    lines = zip(control.splitlines(), drawn(run, "other").stdout.splitlines(), strict=True)
    assert [before.split()[0] for before, after in lines if before != after] == ["other", "other"]


def test_observed_nothing_changes_and_keys_are_told(run: Run) -> None:
    outcome = drawn(run, control="observe")
    plain = drawn(run, control=None)
    assert outcome.stdout.splitlines()[:4] == plain.stdout.splitlines()[:4]
    seeds = [(event["call"], event["line"], event["replaced"]) for event in outcome.of("seed")]
    assert seeds == [("jax.random.PRNGKey", 5, False), ("jax.random.key", 12, False)]
    again = drawn(run, control="observe")
    prints = [
        {event["name"]: event["digest"] for event in one.of("fingerprint") if event["moment"] == "end"}
        for one in (outcome, again)
    ]
    assert prints[0]["shuffle"] == prints[1]["shuffle"]
