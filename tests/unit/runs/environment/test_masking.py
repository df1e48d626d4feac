"""Secrets are known by name or shape; settings that sound alike stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.secrets import is_secret, mask_lines, mask_text, mask_variables, mask_words, secrets_of, star_text

SECRET = "s3cr3t-value"


@pytest.mark.parametrize(
    "words",
    [["--cookie", SECRET], ["PGPASSWORD=" + SECRET], ["--dbpassword", SECRET], ["--smtp-pass", SECRET],
     [f"https://hooks.slack.com/services/T0/{SECRET * 3}"], [f"https://discord.com/api/webhooks/123/{SECRET * 3}"],
     ["--api-key", SECRET], ["--api_key=" + SECRET], ["--token", SECRET], ["--token=" + SECRET], ["-password", SECRET],
     ["--wandb.api_key=" + SECRET], ["wandb.api_key=" + SECRET], ["+logger.token=" + SECRET], ["--hf-token", SECRET],
     ["--apiKey", SECRET], ["WANDB_API_KEY=" + SECRET, "python", "a.py"], ["--db", f"postgres://me:{SECRET}@host/x"],
     [f"https://{SECRET}@github.com/a/b"], ["bash", "-c", f"python a.py --api-key {SECRET} --lr 1"],
     ["bash", "-c", f"export HF_TOKEN={SECRET}; python a.py"], ["--push_to_hub_token", SECRET],
     ["--secret", "-" + SECRET],
     ["curl", "-H", f"Authorization: Bearer {SECRET}"], ["curl", "-H", f"Authorization: Token {SECRET}"],
     ["--url", f"https://host/x?lr=1&token={SECRET}"], [f"https://host/x?X-Amz-Signature={SECRET}&a=b"],
     ["--user", "me", "-p", SECRET], ["login", "--key", SECRET], ["mysql", "-u", "me", f"-p{SECRET}"],
     ["curl", "-u", f"me:{SECRET}", "x"], ["env", f"MY_OWN_TOKEN={SECRET}"], [f"--env=MY_OWN_TOKEN={SECRET}"],
     [f"user=me,password={SECRET}"], [f'{{"api_key":"{SECRET}","lr":1}}'], [f"me:{SECRET}@host.org"],
     ["--note", f"Namespace(api_key='{SECRET}')"]],
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
    ["hf_" + "a" * 34, "sk-" + "a" * 40, "ghp_" + "a" * 36, "AKIA" + "A" * 16, "xoxb-" + "1" * 12, "glpat-" + "a" * 20,
     "GOCSPX-" + "a" * 28, "dapi" + "0a" * 16, "hvs." + "a" * 90, "pplx-" + "a" * 48, "as-" + "aB1" * 7 + "a",
     "eyJ" + "a" * 80 + "==", "pat" + "a" * 14 + "." + "0" * 64, "1//0" + "a" * 50],
)  # fmt: skip
def test_keys_of_known_services_are_known_by_their_shape(word):
    assert mask_words(["a", word, f"--x={word}"]) == ["a", "***", "--x=***"]


@pytest.mark.parametrize(
    "name",
    ["--pad-token", "--eos_token", "--num-tokens", "--max-tokens", "--tokenizer", "--sort-key", "--key-dim", "--keys",
     "--tokens-per-batch", "--author", "--secretary", "--pass", "PWD", "OLDPWD", "--monkey", "--mask_token",
     "--file-pat", "--psk", "--cookies-file", "--client-key", "--rnn-pass", "--image_token", "--state-key"],
)  # fmt: skip
def test_settings_that_sound_alike_stay(name):
    assert not is_secret(name)
    assert mask_words(["a", name, "b"]) == ["a", name, "b"]


@pytest.mark.parametrize(
    "words",
    [["-p", "0.5"], ["--user", "me", "-p", "8080"], ["--key", "name"], ["-k", "5"], ["tcp://host:8080"], ["auth:80"],
     ["https://host/x?lr=1&epochs=2"], ["as-is"], ["key-" + "a" * 20], ["SKIP" + "0" * 32], ["hooks/webhooks/1/a"],
     ["eyJ" + "a" * 20], ["https://host/t/en-us/docs"],
     ["python", "-u", "train.py"], ["--lr=0.1"], ["a@b.org"], ["10:30:00"]],
)  # fmt: skip
def test_words_that_look_alike_stay(words):
    assert mask_words(["python", "train.py", *words]) == ["python", "train.py", *words]


def test_a_short_secret_is_sought_where_it_stands_alone_and_a_number_or_a_common_word_is_not():
    for value, said, masked in (
        ("abc", "login abc ok, abcd, x-abc", "login *** ok, abcd, x-abc"),
        ("12", "epoch 12 of 120", "epoch 12 of 120"),
        ("true", "it is true", "it is true"),
        ("123456", "pin 123456, loss 0.123456", "pin ***, loss 0.123456"),
    ):
        assert mask_lines([said], secrets_of(["a", "--password", value], {})) == [masked]


def test_what_a_variable_holds_in_part_and_what_stands_in_a_url_is_sought():
    secrets = secrets_of(["a"], {"DATABASE_URL": "mysql://root:pass%2Bw0rd@host", "MY_PASS": "other one", "LR": "0.1"})
    lines = mask_lines(["pass+w0rd", "pass%2Bw0rd", "other%20one", "root 0.1"], secrets)
    assert lines == ["***", "***", "***", "root 0.1"]


def test_stars_in_a_text_keep_its_length_and_its_code():
    code = (
        b'api_key = "sesame-1"\npassword = getpass.getpass()\ntoken = tokenizer(x)\nurl = "https://u:pw@h/x?sig=abc"\n'
        b"-----BEGIN PRIVATE KEY-----\nMIIabcdef==\n-----END PRIVATE KEY-----\nepoch 1 loss 0.3\n"
    )
    starred = star_text(code, is_code=True)
    assert len(starred) == len(code)
    assert starred.split(b"\n") == [
        b'api_key = "********"', b"password = getpass.getpass()", b"token = tokenizer(x)",
        b'url = "https://****@h/x?sig=***"',
        b"-----BEGIN PRIVATE KEY-----************", b"-----END PRIVATE KEY-----", b"epoch 1 loss 0.3", b"",
    ]  # fmt: skip
    said = (
        b"password: hunter2 token: cat auth=0.5 access_token=0.5 password=None -----BEGIN PRIVATE KEY-----\nepoch 1\n"
    )
    assert star_text(said, is_code=False) == said.replace(b"hunter2", b"*******")
    assert star_text(b"\0" + code, is_code=True) == b"\0" + code


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
    for text in ("a " * 100_000, "-" * 100_000, "a=" * 50_000, " " * 100_000, "://" * 50_000, "eyJ." * 50_000,
                 "api_key=" * 50_000, "PRIVATE KEY-----\n" * 20_000, "a:b" * 50_000, "&a" * 50_000):  # fmt: skip
        mask_text(text)
        star_text(text.encode(), is_code=False)
