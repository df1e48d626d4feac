"""Where a program compares what it predicted with what it should have."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysed_projects import analyse


def compared(folder: Path, source: str) -> list[tuple[str, str, bool]]:
    """Return the two sides of each comparison that is found, and whether the target comes first."""
    found = analyse(folder, train=source).comparisons
    lines = source.encode().split(b"\n")

    def text(span) -> str:
        assert span.line == span.end_line
        return lines[span.line - 1][span.column : span.end_column].decode()

    return [(text(each.left), text(each.right), each.target_first) for each in found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("correct = (out.argmax(1) == y).sum()", ("out.argmax(1)", "y", False)),
        ("correct = pred.eq(target.view_as(pred)).sum()", ("pred", "target.view_as(pred)", False)),
        (
            "correct = pred.eq(target.view(1, -1).expand_as(pred))",
            ("pred", "target.view(1, -1).expand_as(pred)", False),
        ),
        ("correct = torch.eq(pred, labels).sum()", ("pred", "labels", False)),
        ("correct = (y_test == model(x).round()).mean()", ("y_test", "model(x).round()", True)),
        ("accuracy = np.mean(np.equal(guesses, truth))", ("guesses", "truth", False)),
        ("accuracy = tf.reduce_mean(tf.cast(tf.equal(labels, predictions), 'f'))", ("labels", "predictions", True)),
        ("print(f'{(preds == labels).mean():.3f}')", ("preds", "labels", False)),
        ("accuracy = jnp.mean(jnp.argmax(logits, -1) == labels)", ("jnp.argmax(logits, -1)", "labels", False)),
        ("correct += int((p == t).sum())", ("p", "t", False)),
        ("score = np.mean(y.argmax(axis=1) == y_pred)", ("y.argmax(axis=1)", "y_pred", True)),
        ("score = (y.argmax(1) == out.argmax(1)).mean()", ("y.argmax(1)", "out.argmax(1)", True)),
        ("score = (y_hat.argmax(1) == y.argmax(1)).mean()", ("y_hat.argmax(1)", "y.argmax(1)", False)),
        ("score = (y.argmax(1) == t).mean()", ("y.argmax(1)", "t", False)),
    ],
)
def test_comparisons_element_by_element_are_found(tmp_path: Path, line: str, expected: tuple[str, str, bool]) -> None:
    assert compared(tmp_path, line) == [expected]


@pytest.mark.parametrize(
    "line",
    [
        "if pred == target: use(pred)",
        "while labels == preds: labels = f(preds)",
        "assert preds == labels",
        "value = 1 if pred == target else 0",
        "same = low <= pred == target",
        "correct = (pred == 1).sum()",
        "correct = (labels != preds).sum()",
        "names = [name for name in labels if name == pred]",
        "alive = (grid == before).all()",
        "use(pred.eq(target, out=buffer))",
        "if not (pred == target): use(pred)",
        "if ready and pred == target: use(pred)",
        "shape = predictions.shape == (3, 4)",
    ],
)
def test_what_compares_no_examples_is_left(tmp_path: Path, line: str) -> None:
    assert compared(tmp_path, line) == []


def test_code_that_does_not_run_or_is_compiled_from_its_source_is_left(tmp_path: Path) -> None:
    unused = "def unused(pred, y):\n    return (pred == y).sum()\n"
    forward = "class Model(Module):\n    def forward(self, pred, y):\n        return (pred == y)\nModel()(pred, y)\n"
    assert compared(tmp_path, unused + forward) == []
    script = (
        "import torch\ndef f(pred, y):\n    return (pred == y).sum()\nprint(torch.jit.script(f)(pred, y), f(pred, y))"
    )
    assert compared(tmp_path, script) == []


def test_comparisons_of_imported_files_are_found_in_order(tmp_path: Path) -> None:
    train = "from measure import accuracy\nprint((out == y).sum())\nprint(accuracy(out, y))\n"
    measure = "def accuracy(output, target):\n    return (output.argmax(1) == target).mean()\n"
    found = analyse(tmp_path, train=train, measure=measure).comparisons
    assert [(each.file, each.line, each.function) for each in found] == [
        ("measure.py", 2, "accuracy"),
        ("train.py", 2, "<module>"),
    ]
