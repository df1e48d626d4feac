"""What ``--set`` and the ``[run]`` table of deviate.toml say becomes the request."""

import pytest

from deviate.core.errors import BadConfig, BadOption
from deviate.runs.request import Request, option_words
from deviate.source.config import TypedStatistics, file_settings, file_statistics, read_settings


def test_texts_become_what_the_request_takes():
    given = read_settings(
        ["stall=60", "memory=0.5", "per-gpu=2", "strict=true", "accept_status=1,3", "include=a=b.pt", "include=c"]
    )
    assert given == {
        "stall": 60.0,
        "memory": 0.5,
        "per_gpu": 2,
        "strict": True,
        "accept_status": (1, 3),
        "include": ("a=b.pt", "c"),
    }
    Request(command=["python", "t.py"], **given)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("stall", "--set must be KEY=VALUE, found 'stall'", "keys: timeout, stall"),
        ("stal=6", "--set takes no key 'stal' here", "did you mean stall? keys: timeout, stall"),
        ("stall=soon", "--set stall: Expected `float | null`, got `str`", "--set stall=VALUE"),
        ("share=some", "--set share: Invalid enum value 'some'", "--set share=VALUE"),
        ("accept_status=1,x", "--set accept_status: Expected `int`", "--set accept_status=VALUE"),
    ],
)
def test_what_is_no_setting_is_refused_with_those_there_are(text, said, hint):
    with pytest.raises(BadOption) as raised:
        read_settings([text])
    assert said in raised.value.message
    assert hint in raised.value.hint


def test_a_setting_with_one_value_is_typed_once():
    with pytest.raises(BadOption, match="typed twice"):
        read_settings(["stall=1", "stall=2"])
    with pytest.raises(BadOption, match="direction of 'acc' is typed twice"):
        read_settings(["direction=acc=higher", "direction=acc=lower"], TypedStatistics)


def test_the_file_says_how_runs_of_all_experiments_are_made(tmp_path):
    assert file_settings(tmp_path) == {}
    (tmp_path / "deviate.toml").write_text('[run]\nstall = 60\nshare = "none"\nstrict = false\n')
    assert file_settings(tmp_path) == {"stall": 60.0, "share": "none", "strict": False}
    (tmp_path / "deviate.toml").write_text("[run]\ngres = 1\n")
    with pytest.raises(BadConfig, match="gres"):
        file_settings(tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        {"exclude": ("*.log", "a b/**"), "accept_status": (1, 3)},
        {"strict": True, "memory": 0.5, "share": "none", "entry": "train.py"},
    ],
)
def test_words_of_a_request_are_read_as_the_same_request(given):
    words = option_words(Request(command=["x"], **given))
    assert words[::2] == ["--set"] * (len(words) // 2)
    assert read_settings(words[1::2]) == given


def test_settings_of_statistics_become_keywords_of_python():
    texts = [
        "aggregate=val=acc=best",
        "weak=val<5",
        "weak=loss",
        "test-size=val=100",
        "alpha=0.01",
        "max=20",
        "max_churn=5%",
    ]
    assert read_settings(texts, TypedStatistics) == {
        "aggregates": {"val=acc": "best"},
        "weak": ("val<5", "loss"),
        "test_sizes": {"val": 100},
        "alpha": 0.01,
        "most": 20,
        "max_churn": "5%",
    }


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("agregate=a=best", "no key 'agregate'", "did you mean aggregate? keys: aggregate, alpha"),
        ("power=0.9", "no key 'power'", "keys: aggregate, alpha"),
        ("aggregate=best", "is not aggregate=NAME=VALUE", "type --set aggregate=VALUE (METRIC=last, best"),
        ("alpha=1", "--set alpha: Expected `float` < 1.0", "type --set alpha=VALUE (probability of a false alarm"),
        ("alpha=x", "--set alpha: Expected `float", "type --set alpha=VALUE (probability of a false alarm"),
    ],
)
def test_what_is_no_setting_of_a_command_is_refused_with_what_it_takes(text, said, hint):
    with pytest.raises(BadOption) as raised:
        read_settings([text], TypedStatistics, ["aggregate", "alpha"])
    assert said in raised.value.message
    assert hint in raised.value.hint


def test_the_file_says_how_results_of_all_experiments_are_computed(tmp_path):
    assert file_statistics(tmp_path, "alpha") == {}
    path = tmp_path / "deviate.toml"
    path.write_text('[statistics]\nalpha = 0.01\npower = 0.9\naggregate = { acc = "best" }\n')
    assert file_statistics(tmp_path, "alpha", "aggregates") == {"alpha": 0.01, "aggregates": {"acc": "best"}}
    for line, key, hint in (
        ("powr = 0.9", "powr", "did you mean power? keys allowed there: aggregate,"),
        ("alpha = 2", "alpha", "keys allowed there"),
        ('correction = "sidak"', "correction", "values allowed there: holm, bonferroni, bh, none"),
    ):
        path.write_text(f"[statistics]\n{line}\n")
        with pytest.raises(BadConfig, match=f"deviate.toml:2: statistics.{key}") as raised:
            file_statistics(tmp_path, "alpha")
        assert hint in raised.value.hint
