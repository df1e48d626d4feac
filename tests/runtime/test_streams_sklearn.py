"""scikit-learn: splits stay the author's while the data are held, estimators draw for `other`."""

from __future__ import annotations

import textwrap

from installed import require
from programs import Outcome, Run

require("sklearn")

WARM = "sklearn"
FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")
SOURCE = textwrap.dedent("""
    import sys
    import numpy as np
    from sklearn.datasets import make_moons
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import KFold, train_test_split
    given = int(sys.argv[1]) if len(sys.argv) > 1 else None
    x, y = make_moons(40, noise=0.1, random_state=given)
    train, test = train_test_split(x, random_state=given)
    folds = [part.tolist() for _, part in KFold(2, shuffle=True, random_state=given).split(x)]
    print(x.sum(), train.sum(), folds)
    forest = RandomForestClassifier(3, random_state=given).fit(x, y)
    print(SGDClassifier(random_state=given).fit(x, y).coef_, [tree.tree_.node_count for tree in forest.estimators_])
    """)


def trained(run: Run, *words: str, vary: str = "", control: str = "streams") -> Outcome:
    """Train in a process of its own, or, where a factor varies, in one that has the libraries."""
    seeds = {factor: 7 + 100 * (factor == vary) for factor in FACTORS} if control == "streams" else None
    varying, warm = ([vary], WARM) if vary else ([], "")
    return run(SOURCE, "program.py", *words, control=control, seeds=seeds, varying=varying, warm=warm)


def test_the_authors_split_stays_and_his_estimators_vary(run: Run) -> None:
    plain = run(SOURCE, "program.py", "42", runtime=False, warm=WARM).stdout.splitlines()
    control, fitted, split = (trained(run, "42", vary=vary).stdout.splitlines() for vary in ("", "other", "data"))
    assert control[0] == fitted[0] == plain[0] != split[0]
    assert len({control[1], fitted[1], plain[1]}) == 3


def test_without_a_seed_the_data_are_held_all_the_same(run: Run) -> None:
    control, fitted, split = (trained(run, vary=vary).stdout.splitlines() for vary in ("", "other", "data"))
    assert control[0] == fitted[0] != split[0]
    assert control[1] != fitted[1]


def test_the_split_of_a_generator_that_the_program_hands_over_stays(run: Run) -> None:
    source = [
        *SOURCE.splitlines()[1:4],
        "from sklearn.model_selection import KFold",
        "given = np.random.RandomState(3)",
    ]
    source.append("print(next(KFold(9, shuffle=True, random_state=given).split(np.zeros(40)))[1], given.rand())")
    text = "\n".join(source)
    plain = run(text, "program.py", runtime=False, warm=WARM).stdout
    held, varied = (
        run(text, "program.py", control="streams", seeds=dict.fromkeys(FACTORS, 7), varying=varying, warm=WARM).stdout
        for varying in ([], ["data"])
    )
    assert held.split("]")[0] == plain.split("]")[0] != varied.split("]")[0]
    assert held.split("]")[1] != plain.split("]")[1]


def test_each_place_that_gives_a_seed_is_told_and_no_seed_that_a_forest_draws(run: Run) -> None:
    outcome = trained(run, "42", control="observe")
    assert outcome.stdout == run(SOURCE, "program.py", "42", runtime=False, warm=WARM).stdout
    outcome = trained(run, "42")
    seeds = {(event["line"], event["given"], event["replaced"]) for event in outcome.of("seed")}
    assert seeds == {(9, "42", False), (10, "42", False), (11, "42", False), (13, "42", True), (14, "42", True)}
    (data,) = [event for event in outcome.of("fingerprint") if event["name"] == "data" and event["moment"] == "end"]
    assert {source["line"] for source in data["sources"]} == {9, 10, 11}
    # What is named is what the line calls.
    named = ("make_moons", "train_test_split", "KFold", "RandomForestClassifier", "SGDClassifier")
    assert {event["call"] for event in outcome.of("seed")} == {f"random_state of {name}" for name in named}


def test_a_solver_that_draws_nothing_draws_nothing(run: Run) -> None:
    source = "from sklearn.linear_model import LogisticRegression\n"
    source += "LogisticRegression(random_state=0, solver={!r}).fit([[0.0], [1.0]], [0, 1])"
    drawn = {}
    for solver in ("lbfgs", "saga"):
        outcome = run(source.format(solver), control="streams", seeds=dict.fromkeys(FACTORS, 7), warm=WARM)
        drawn[solver] = {event["name"] for event in outcome.of("fingerprint")}
    assert drawn == {"lbfgs": set(), "saga": {"other"}}


def test_members_that_are_fitted_in_threads_are_no_draws_of_the_program(run: Run) -> None:
    source = SOURCE.replace("RandomForestClassifier(3,", "RandomForestClassifier(8, n_jobs=4,")
    first, *further = (
        run(source, "program.py", "42", control="streams", seeds=dict.fromkeys(FACTORS, 7), warm=warm)
        for warm in ("", WARM, WARM)
    )
    prints = [{(e["name"], e["digest"]) for e in each.of("fingerprint")} for each in (first, *further)]
    assert prints[0] == prints[1] == prints[2]
    assert {(event["line"], event["given"]) for event in first.of("seed")} >= {(13, "42"), (14, "42")}
    assert all(event["line"] for event in first.of("seed"))


FOLDS = textwrap.dedent("""
    import sys
    from sklearn.datasets import load_wine
    from sklearn.model_selection import KFold, cross_val_score, train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    x, y = load_wine(return_X_y=True)
    if "split" in sys.argv:
        x, _, y, _ = train_test_split(x, y)
    print(cross_val_score(KNeighborsClassifier(), x, y, cv=5).mean())
    """)


def test_folds_in_their_order_draw_nothing_though_they_are_given_a_generator(run: Run) -> None:
    seeds = dict.fromkeys(FACTORS, 7)
    drawn = {
        words: {
            event["name"]
            for event in run(FOLDS, "program.py", *words, control="streams", seeds=seeds, warm=WARM).of("fingerprint")
        }
        for words in ((), ("split",))
    }
    assert drawn == {(): set(), ("split",): {"data"}}
