"""Final weights of trainings on JAX: recognised in each style of writing one, and equal to what the program has."""

from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path

import pytest
from installed import require
from programs import Outcome, Run

from deviate.observe.weights import read_tensors

pytestmark = pytest.mark.slow
require("jax", "flax", "optax")

DATA = """
import functools, hashlib
import jax, jax.numpy as jnp, numpy as np, optax
from flax import linen
from flax.training.train_state import TrainState
x = jnp.linspace(-1, 1, 48).reshape(16, 3)
y = (x.sum(1) > 0) * 1.0
def loss_of(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["w"]) + params["b"] - y) ** 2)
def start(scale):
    return {"w": jnp.full(3, scale), "b": jnp.zeros(())}
def show(style, params):
    leaves = jax.tree_util.tree_leaves(params)
    print(style, hashlib.sha1(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest())
"""

STYLES = """
def plain(scale):
    @jax.jit
    def step(params, velocity, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.1 * g, velocity, grads)
        return jax.tree.map(jnp.add, params, velocity), velocity, loss
    params = start(scale)
    velocity = jax.tree.map(jnp.zeros_like, params)
    for _ in range(3):
        params, velocity, loss = step(params, velocity, x, y)
    return params

def flax_state(scale):
    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, x, y):
        grads = jax.grad(lambda params: jnp.mean((state.apply_fn(params, x)[:, 0] - y) ** 2))(state.params)
        return state.apply_gradients(grads=grads)
    model = linen.Dense(1)
    params = model.init(jax.random.PRNGKey(int(scale)), x)
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(0.1))
    for _ in range(3):
        state = step(state, x, y)
    return state.params

def without_compiling(scale):
    tx, params = optax.sgd(0.1), start(scale)
    state = tx.init(params)
    for _ in range(3):
        updates, state = tx.update(jax.grad(loss_of)(params, x, y), state, params)
        params = optax.apply_updates(params, updates)
    return params

def two_functions(scale):
    gradient = jax.jit(jax.grad(loss_of))
    update = jax.jit(lambda params, grads: jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    params = start(scale)
    for _ in range(3):
        for part in range(0, 16, 4):
            grads = gradient(params, x[part : part + 4], y[part : part + 4])
        params = update(params, grads)
    return params

def scanned(scale):
    @jax.jit
    def epoch(params, x, y):
        def step(params, batch):
            loss, grads = jax.value_and_grad(loss_of)(params, *batch)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss
        return jax.lax.scan(step, params, (x.reshape(4, 4, 3), y.reshape(4, 4)))
    params = start(scale)
    for _ in range(3):
        params, losses = epoch(params, x, y)
    return params

class Learner:
    def __init__(self, scale):
        self.rate, self.params = 0.1, start(scale)
    @functools.partial(jax.jit, static_argnums=0)
    def inner(self, params, x, y):
        return jax.grad(loss_of)(params, x, y)
    def update(self, params, x, y):
        grads = self.inner(params, x, y)
        return jax.tree.map(lambda p, g: p - self.rate * g, params, grads)

def methods(scale):
    learner = Learner(scale)
    update = jax.jit(learner.update)
    for _ in range(3):
        learner.params = update(learner.params, x, y)
    return learner.params

def partial(scale):
    def step(rate, params, x, y):
        return jax.tree.map(lambda p, g: p - rate * g, params, jax.grad(loss_of)(params, x, y))
    step = jax.jit(functools.partial(step, 0.1))
    assert step.lower(start(scale), x, y).as_text()
    params = start(scale)
    for _ in range(3):
        params = step(params, x, y)
    return params

for number, style in enumerate([plain, flax_state, without_compiling, two_functions, scanned, methods, partial]):
    show(style.__name__, style(1.0 + number))
"""

BY_HAND = """
params = start(1.0)
for _ in range(3):
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_of)(params, x, y))
show("by hand", params)
"""

ITERATED = """
@jax.jit
def step(params, x, y):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_of)(params, x, y))
params = start(1.0)
for _ in __dv_loop__(range(4)):
    params = step(params, x, y)
    show("after", params)
"""


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """The folder that the runtime writes to."""
    return tmp_path / "records"


def trained(run: Run, source: str, weights: str, warm: str = "jax") -> Outcome:
    outcome = run(DATA + textwrap.dedent(source), control="observe", weights=weights, warm=warm)
    assert outcome.status == 0, outcome.stderr
    return outcome


def digest(path: Path) -> str:
    return hashlib.sha1(b"".join(array.tobytes() for array in read_tensors(path).values())).hexdigest()


def kept(folder: Path, names: str = "weights-*") -> set[str]:
    return {digest(path) for path in folder.glob(names)}


def printed(outcome: Outcome) -> list[str]:
    return [line.rpartition(" ")[2] for line in outcome.stdout.splitlines()]


def test_weights_are_known_in_each_style(run: Run, records: Path) -> None:
    plain = run(DATA + STYLES, runtime=False, warm="jax")
    outcome = trained(run, STYLES, "final", warm="")
    assert not outcome.of("note")
    assert kept(records) == set(printed(outcome))
    names = {tuple(sorted(read_tensors(path))) for path in records.glob("weights-*")}
    assert names == {("b", "w"), ("bias", "kernel")}  # as in the program's own trees
    assert len([event for event in outcome.of("fingerprint") if event["name"] == "weights"]) == 1
    assert plain.stdout == outcome.stdout


USES = """
import copy, inspect
def double(x, *, k=2.0):
    return x * k
compiled = jax.jit(double, donate_argnames=())
print(compiled(x=jnp.ones(2), k=3.0), jax.vmap(compiled)(jnp.ones((2, 2))), jax.grad(compiled)(2.0))
print(jax.eval_shape(compiled, jnp.ones(3)), jax.make_jaxpr(compiled)(1.0), inspect.signature(compiled))
print(compiled.lower(jnp.ones(2)).as_text(), jax.jit(compiled)(3.0), compiled.__wrapped__ is double, compiled.__name__)
print(copy.deepcopy([compiled])[0](2.0), jax.jit(jnp.sum)(jnp.ones(3)), jax.jit(Callable())(1.0))
traces = []
def traced(x):
    traces.append(1)
    return x + 1
for _ in range(3):
    jax.jit(traced)(1.0)
    jax.lax.scan(scanned, 0.0, jnp.ones(2))
print(len(traces))
"""

CALLABLE = """
class Callable:
    def __call__(self, x):
        return x * 2
def scanned(carry, x):
    traces.append(1)
    return carry + x, x
"""


def test_a_compiled_function_is_what_it_is_without_the_runtime(run: Run) -> None:
    source = DATA + CALLABLE + USES
    plain = run(source, runtime=False, warm="jax")
    assert plain.status == 0, plain.stderr
    outcome = run(source, control="observe", weights="final", warm="jax")
    assert outcome.stdout == plain.stdout
    assert not outcome.of("note")


def test_what_is_updated_by_hand_is_not_known_and_that_is_noted(run: Run, records: Path) -> None:
    outcome = trained(run, BY_HAND, "final")
    assert not kept(records)
    assert [event["slug"] for event in outcome.of("note")] == ["weights-unseen"]
    assert "final weights are not known" in outcome.of("note")[0]["message"]


def test_weights_are_kept_as_iterations_end(run: Run, records: Path) -> None:
    outcome = trained(run, ITERATED, "every:2")
    after = printed(outcome)
    assert kept(records, "weights-jax-0-after1-*") == {after[1]}
    assert kept(records, "weights-jax-0-[0-9]*") == {after[3]}
    assert len(list(records.glob("weights-*"))) == 2
