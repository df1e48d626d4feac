"""Keras and TensorFlow: observed, a program draws as it would alone; seeded again, it repeats its draws."""

from __future__ import annotations

import textwrap

from installed import require
from programs import Run

require("keras")
SEEDS = dict.fromkeys(("init", "shuffle", "augment", "layers", "other", "data"), 7)
QUIET = {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}

SOURCE = textwrap.dedent("""
    import keras, numpy as np, tensorflow as tf, warnings
    keras.utils.set_random_seed(3)
    warnings.simplefilter("error")

    def draws():
        dense = keras.layers.Dense(2, kernel_initializer=keras.initializers.HeNormal(seed=5))
        dense.build((None, 2))
        dropout = keras.layers.Dropout(0.5, seed=6)
        yield dense.kernel.numpy()
        yield dropout(np.ones((2, 8)), training=True).numpy()
        yield keras.layers.RandomFlip()(np.arange(18.0).reshape(1, 3, 3, 2), training=True).numpy()
        yield keras.random.normal((2,)).numpy()
        yield keras.random.normal((2,), seed=4).numpy()
        yield tf.random.normal((2,)).numpy()
        yield tf.random.uniform((2,), seed=9).numpy()
        yield tf.random.Generator.from_seed(4).normal((2,)).numpy()
        data = tf.data.Dataset.range(6).shuffle(6).map(lambda i: tf.cast(i, tf.float32) + tf.random.uniform(()))
        yield np.array([[float(x) for x in data] for _ in range(2)])
        assert keras.layers.Dropout.from_config(dropout.get_config()).seed == 6
        assert dense.kernel_initializer.get_config()["seed"] == 5 == dense.kernel_initializer.clone()._init_seed

    first = list(draws())
    keras.utils.set_random_seed(3)
    print([np.array_equal(a, b) for a, b in zip(first, draws())])
    print([a.round(5).tolist() for a in first])
    """)


def test_draws_repeat_when_seeded_again(run: Run) -> None:
    require("tensorflow")
    outcome = run(SOURCE, control="streams", seeds=SEEDS, varying=[], environment=QUIET)
    assert outcome.status == 0, outcome.stderr
    assert not outcome.of("note")
    assert outcome.stdout.splitlines()[0] == str([True] * 9)
    seeds = {(event["line"], event["given"]) for event in outcome.of("seed") if event["replaced"]}
    assert {(3, "3"), (7, "5"), (9, "6"), (14, "4"), (16, "9"), (17, "4")} <= seeds


def test_observed_a_program_draws_as_it_would_alone(run: Run) -> None:
    require("tensorflow")
    outcome = run(SOURCE, control="observe", seeds=None, varying=[], environment=QUIET, warm="keras")
    assert not outcome.of("note")
    assert outcome.stdout == run(SOURCE, runtime=False, environment=QUIET, warm="keras").stdout
    assert not any(event["replaced"] for event in outcome.of("seed"))


UNUSED = textwrap.dedent("""
    import keras, numpy as np
    never_called, zero = keras.layers.Dropout(0.5, seed=3), keras.layers.Dropout(0.0, seed=4)
    rates = [keras.layers.LSTM(2, dropout=rate) for rate in RATES]
    for layer in (zero, *rates):
        layer(np.ones((2, 3, 1), "float32"), training=True)
    """)


def test_a_seed_that_nothing_is_drawn_from_is_no_draw(run: Run) -> None:
    require("tensorflow")
    for rates, drawn in (("[0.0]", set()), ("[0.0, 0.5]", {"layers"})):
        outcome = run(
            UNUSED.replace("RATES", rates), control="observe", seeds=None, varying=[], environment=QUIET, warm="keras"
        )
        assert outcome.status == 0, outcome.stderr
        assert {event["name"] for event in outcome.of("fingerprint")} - {"init"} == drawn


FITS = textwrap.dedent("""
    import sys, keras, numpy as np
    rng = np.random.default_rng(0)
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    x, y = rng.normal(size=(32, 3)), rng.normal(size=(32, 1))
    for _ in range(3):
        if sys.argv[1:]:
            x = rng.normal(size=(32, 3))
        model.fit(x, y, verbose=0)
    """)


def parts_of_examples(run: Run, *words: str) -> list[str]:
    outcome = run(
        FITS, "program.py", *words, control="streams", seeds=SEEDS, varying=[], environment=QUIET, warm="keras"
    )
    assert outcome.status == 0, outcome.stderr
    return [*[event for event in outcome.of("fingerprint") if event["name"] == "examples"][-1]["parts"]]


def test_arrays_that_each_fit_makes_anew_are_no_data_set(run: Run) -> None:
    require("tensorflow")
    assert parts_of_examples(run) == ["data set 1"]
    assert parts_of_examples(run, "anew") == []
