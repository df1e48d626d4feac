"""Inputs that a user gives for the evaluated examples are those of the examples on the flip list."""

import base64
import io
import json
import re

import numpy as np
import predicted_cases as made
import pytest
import report_cases as cases
from installed import require
from msgspec import structs

from deviate.core.errors import BadOption
from deviate.facts.predictions import with_inputs
from deviate.observe.examples import LARGEST, LARGEST_FILE, picture, read_inputs
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.stability import NO_INPUTS, SOME_INPUTS
from deviate.report.writers.contracts import experiment_json
from deviate.report.writers.html import render_html
from deviate.report.writers.markdown import render_markdown

EXAMPLES = 60


def pixels_of(png):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)))


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (1, 5, 7), (5, 7, 3), (3, 5, 7), (5, 7, 4)])
def test_a_picture_has_the_pixels_of_the_array(shape):
    require("PIL")
    array = np.random.default_rng(0).integers(256, size=shape).astype(np.uint8)
    expected = np.moveaxis(array, 0, 2) if shape[0] in (1, 3) else array
    assert np.array_equal(pixels_of(picture(array)).reshape(expected.shape), expected)


def test_values_are_shown_as_they_are_where_they_are_shares_or_bytes_and_else_stretched():
    require("PIL")
    assert pixels_of(picture(np.array([[0.0, 0.2], [0.4, 0.6]]))).tolist() == [[0, 51], [102, 153]]
    assert pixels_of(picture(np.array([[0.0, 100.0], [7.0, 200.0]]))).tolist() == [[0, 100], [7, 200]]
    assert pixels_of(picture(np.array([[-1.0, 0.0], [0.0, 1.0]]))).tolist() == [[0, 128], [128, 255]]
    assert pixels_of(picture(np.array([[300, 300], [300, 300]]))).tolist() == [[0, 0], [0, 0]]
    assert max(pixels_of(picture(np.zeros((300, 200), np.uint8))).shape) <= LARGEST


def report(tmp_path, source, **changes):
    predicted = made.predictions(6, examples=EXAMPLES, **changes)
    samples = {"algo+impl": [made_sample(predicted)]}
    found = with_inputs({"algo+impl": [made.evaluation(predicted)]}, samples, str(tmp_path / source))
    plain = cases.results({"algo+impl": {"test acc": [0.9] * 6}})
    return cases.said(structs.replace(plain, evaluations=found)).facts


def made_sample(predicted):
    return cases.results({"algo+impl": {"test acc": [0.9] * 6}}).samples["algo+impl"][0]


def flips(facts):
    return facts.stabilities[0].labels.flips


def test_an_array_of_pictures_is_shown_by_the_number_of_each_example(tmp_path):
    require("PIL")
    array = np.arange(EXAMPLES, dtype=np.uint8)[:, None, None] * np.ones((1, 4, 6), np.uint8)
    np.save(tmp_path / "x.npy", array)
    keys = np.random.default_rng(3).permutation(EXAMPLES)
    facts = report(tmp_path, "x.npy", keys=np.sort(keys))
    assert len(flips(facts)) > 5
    for flip in flips(facts)[:20]:
        head, _, data = flip.picture.partition(",")
        assert head == "data:image/png;base64"
        assert (pixels_of(base64.b64decode(data)) == flip.example).all()
    html = render_html(experiment_page(facts, "full"))
    assert re.search(r'<td[^>]*><img src="data:image/png;base64,[^"]+" alt="picture 4 × 6"', html)
    assert f"| {flips(facts)[0].example} |" in render_markdown(experiment_page(facts, "full"))
    known = json.loads(experiment_json(facts))["predictions"][0]["classification"]["flips"]
    assert list(known[0])[-2:] == ["input", "picture"]
    assert [bool(each["picture"]) for each in known] == [place < 20 for place in range(len(known))]


def test_pictures_and_texts_that_runs_kept_are_shown_where_the_user_gives_no_inputs(tmp_path):
    require("PIL")
    kept = {number: np.full((4, 6, 1), number, np.uint8) for number in range(0, EXAMPLES, 2)}
    predicted = made.predictions(6, examples=EXAMPLES, inputs=kept)
    plain = cases.results({"algo+impl": {"test acc": [0.9] * 6}})
    facts = cases.said(structs.replace(plain, evaluations={"algo+impl": [made.evaluation(predicted)]})).facts
    assert {bool(flip.picture) for flip in flips(facts)[:20]} == {True, False}
    for flip in flips(facts)[:20]:
        assert bool(flip.picture) == (flip.example in kept)
        if flip.picture:
            assert (pixels_of(base64.b64decode(flip.picture.partition(",")[2])) == flip.example).all()
            assert flip.input == "picture 4 × 6 × 1"
    scored = made.predictions(6, examples=EXAMPLES, inputs=kept, scores=np.full((6, EXAMPLES, 3), 1 / 3))
    facts = cases.said(structs.replace(plain, evaluations={"algo+impl": [made.evaluation(scored)]})).facts
    assert SOME_INPUTS in render_markdown(experiment_page(facts, "full"))
    texts = {number: np.asarray(f"text {number}") for number in kept}
    predicted = made.predictions(6, examples=EXAMPLES, inputs=texts)
    facts = cases.said(structs.replace(plain, evaluations={"algo+impl": [made.evaluation(predicted)]})).facts
    said = {flip.example: flip.input for flip in flips(facts)[:20] if flip.input}
    assert said
    assert said == {number: f"text {number}" for number in said if number in kept}
    np.save(tmp_path / "x.npy", np.full((EXAMPLES, 2, 2), 7, np.uint8))
    assert {flip.input for flip in flips(report(tmp_path, "x.npy", inputs=kept))[:20]} == {"picture 2 × 2"}


def test_where_runs_kept_scores_and_no_inputs_the_page_says_which_inputs_are_kept():
    plain = cases.results({"algo+impl": {"test acc": [0.9] * 6}})
    for scores, said in ((np.full((6, EXAMPLES, 3), 1 / 3), True), (None, False)):
        predicted = made.predictions(6, examples=EXAMPLES, scores=scores)
        facts = cases.said(structs.replace(plain, evaluations={"algo+impl": [made.evaluation(predicted)]})).facts
        assert (NO_INPUTS in render_markdown(experiment_page(facts, "full"))) == said


def test_a_table_is_matched_by_its_ids(tmp_path):
    rows = [f'{{"index": {number}, "text": "example  {number}", "length": {number}}}' for number in range(99, -1, -1)]
    (tmp_path / "texts.jsonl").write_text("\n".join(rows))
    facts = report(tmp_path, "texts.jsonl")
    assert [flip.input for flip in flips(facts)[:20]] == [
        f"text: example {flip.example}; length: {flip.example}" for flip in flips(facts)[:20]
    ]
    assert {flip.input for flip in flips(facts)[20:]} <= {""}
    assert "text: example" in render_markdown(experiment_page(facts, "full"))


def test_files_of_a_folder_are_known_by_numbers_in_their_names_else_by_their_order(tmp_path):
    for folder, name in (("numbered", "{}.txt"), ("ordered", "{:03}-text.txt")):
        (tmp_path / folder).mkdir()
        for number in range(EXAMPLES):
            (tmp_path / folder / name.format(number)).write_text(f"text {number}")
        facts = report(tmp_path, folder)
        assert [flip.input for flip in flips(facts)[:20]] == [f"text {flip.example}" for flip in flips(facts)[:20]]


def test_rows_of_numbers_texts_and_large_pictures_are_words(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(20.0).reshape(2, 10))
    assert read_inputs(tmp_path / "rows.npy").show(1).text == "10 11 12 13 14 15 16 17 …"
    np.save(tmp_path / "texts.npy", np.array(["first", "b" * 500]))
    texts = read_inputs(tmp_path / "texts.npy")
    assert (texts.show(0).text, len(texts.show(1).text)) == ("first", 201)
    (tmp_path / "0.png").write_bytes(b"0" * (LARGEST_FILE + 1))
    assert read_inputs(tmp_path).show(0) == type(texts.show(0))("0.png (101 kB, too large to show)")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.npy", "cannot be read"),
        ("short.npy", "short.npy has 59 rows, but 60 examples"),
        ("short.csv", "has no row for 1 of the 60 examples"),
        ("empty", "holds no picture and no text"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_with_a_hint(tmp_path, source, message):
    np.save(tmp_path / "short.npy", np.zeros((EXAMPLES - 1, 4, 4)))
    (tmp_path / "short.csv").write_text("id,text\n" + "\n".join(f"{number},x" for number in range(EXAMPLES - 1)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadOption, match=message) as refused:
        report(tmp_path, source)
    assert refused.value.hint.startswith("give ")


def test_without_inputs_the_flip_list_has_no_column_of_them():
    plain = cases.results({"algo+impl": {"test acc": [0.9] * 6}})
    facts = cases.said(structs.replace(plain, evaluations={"algo+impl": [made.evaluation(made.predictions(6))]})).facts
    assert "| input |" not in render_markdown(experiment_page(facts, "full"))
