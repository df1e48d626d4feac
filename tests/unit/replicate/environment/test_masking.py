"""Secrets are known by name or shape; settings that sound alike stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.replicate.environment.masking import (
    is_secret,
    mask_lines,
    mask_text,
    mask_variables,
    mask_words,
    secrets_of,
)

SECRET = "s3cr3t-value"


@pytest.mark.parametrize(
    "words",
    [["--api-key", SECRET], ["--api_key=" + SECRET], ["--token", SECRET], ["--token=" + SECRET], ["-password", SECRET],
     ["--wandb.api_key=" + SECRET], ["wandb.api_key=" + SECRET], ["+logger.token=" + SECRET], ["--hf-token", SECRET],
     ["--apiKey", SECRET], ["WANDB_API_KEY=" + SECRET, "python", "a.py"], ["--db", f"postgres://me:{SECRET}@host/x"],
     [f"https://{SECRET}@github.com/a/b"], ["bash", "-c", f"python a.py --api-key {SECRET} --lr 1"],
     ["bash", "-c", f"export HF_TOKEN={SECRET}; python a.py"], ["--push_to_hub_token", SECRET],
     ["--secret", "-" + SECRET],
     ["curl", "-H", f"Authorization: Bearer {SECRET}"]],
)  # fmt: skip
def test_secrets_of_a_command_are_masked_and_nothing_else_is(words):
    command = ["python", "train.py", *words, "--epochs", "3"]
    masked = mask_words(command)
    assert SECRET not in " ".join(masked)
    assert masked[:2] == command[:2]
    assert masked[-2:] == command[-2:]
    assert len(masked) == len(command)
    assert mask_words(masked) == masked


@pytest.mark.parametrize(
    "word",
    ["hf_" + "a" * 34, "sk-" + "a" * 40, "ghp_" + "a" * 36, "AKIA" + "A" * 16, "xoxb-" + "1" * 12, "glpat-" + "a" * 20],
)
def test_keys_of_known_services_are_known_by_their_shape(word):
    assert mask_words(["a", word, f"--x={word}"]) == ["a", "***", "--x=***"]


@pytest.mark.parametrize(
    "name",
    ["--pad-token", "--eos_token", "--num-tokens", "--max-tokens", "--tokenizer", "--sort-key", "--key-dim", "--keys",
     "--tokens-per-batch", "--author", "--secretary", "--pass", "PWD", "OLDPWD", "--monkey", "--mask_token"],
)  # fmt: skip
def test_settings_that_sound_alike_stay(name):
    assert not is_secret(name)
    assert mask_words(["a", name, "b"]) == ["a", name, "b"]


def test_variables_and_lines():
    assert mask_variables({"DB_PASSWORD": "x", "LR": "1", "URL": "http://u:p@h", "AWS_SECRET_ACCESS_KEY": None}) == {
        "DB_PASSWORD": "***", "LR": "1", "URL": "http://***@h", "AWS_SECRET_ACCESS_KEY": None,
    }  # fmt: skip
    secrets = secrets_of(["a", "--token", SECRET, "ftp://me:passw0rd@h"], {"X_API_KEY": "other-one", "LR": "0.1"})
    lines = mask_lines([f"unrecognized arguments: {SECRET}", "login passw0rd", "key other-one", "lr 0.1"], secrets)
    assert lines == ["unrecognized arguments: ***", "login ***", "key ***", "lr 0.1"]


@given(st.lists(st.text()), st.text())
def test_masking_ends_for_every_text_and_keeps_the_number_of_words(words, text):
    assert len(mask_words(words)) == len(words)
    mask_text(text)


def test_masking_of_long_texts_is_quick():
    for text in ("a " * 100_000, "-" * 100_000, "a=" * 50_000, " " * 100_000, "://" * 50_000, "eyJ." * 50_000):
        mask_text(text)
