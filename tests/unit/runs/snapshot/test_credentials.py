"""Files of credentials are known by name or content, linked into the snapshot, and in no archive."""

import json
import os

import pytest

from deviate.runs.snapshot.manifest import describe, take
from deviate.runs.snapshot.survey import is_credentials, shows_credentials
from deviate.store.folders import Workspace

KEY = "hf_" + "Ab1" * 10


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "prod.env", ".aws/credentials", ".netrc", "home/.pypirc", "id_rsa", "deploy/id_ed25519_work",
     "server.pem", "tls.key", "credentials.json", "gcp-credentials.json", "kaggle.json", "service-account.json",
     "service_account_prod.json", "secrets.yaml", "secrets.toml", ".streamlit/secrets.toml", ".npmrc",
     ".git-credentials",
     ".docker/config.json", "gcloud/x.db", ".ssh/any", "hf_token.txt", "wandb_key.txt", "api_keys.yml", "secrets.py",
     "my_secrets.py", "client_secret_123.json", ".config/gcloud/legacy/adc.json",
     "client_secret_1-a.apps.googleusercontent.com.json", ".databrickscfg", ".snowflake/config.toml", "token",
     "a.keytab", "kubeconfig.yaml", "zenodo_token", ".dvc/config.local", "auth.json", "gcp-key.json"],
)  # fmt: skip
def test_names_of_credentials(path):
    assert is_credentials(path)


@pytest.mark.parametrize(
    "path",
    ["train.py", "config.yaml", "tokenizer.json", "tokens.txt", "keys.py", "token.py", "auth.py", "secretary.txt",
    "key.csv", "my_config.local.py", "image_tokens.json", "bot_tokens.csv",
     ".env.example", "example.env", "id_rsa.pub", "monkey.json", "environment.yml", "data/secretion.csv", "model.py"],
)  # fmt: skip
def test_names_that_sound_alike(path):
    assert not is_credentials(path)


def test_contents():
    assert shows_credentials("a.txt", b"-----BEGIN OPENSSH PRIVATE KEY-----\nx\n")
    assert shows_credentials("a.json", json.dumps({"private_key": "x"}).encode())
    assert shows_credentials("a.yaml", f"hub: {KEY}\n".encode())
    assert not shows_credentials("a.yaml", b"hub: hf_home\nsk-learn: sk-toggleable__content-arrow\n")
    assert not shows_credentials("a.bin", b"\0" + KEY.encode())
    # Hidden files are the settings of tools.
    assert shows_credentials(".tool/settings.yaml", b"host: x\nauth-token: 'abcdefgh'\n")
    assert shows_credentials(".toolrc", b"url: https://x\nkey: 12345:abcdef\n")
    assert not shows_credentials("settings.yaml", b"key: abcdefgh\n")
    assert not shows_credentials(
        ".tool/settings.yaml", b"tokenizer: bert-base\ntoken: ${TOKEN_OF_X}\npad-token: abcdefg\n"
    )
    # Runs start code, and have their copy of it.
    assert not shows_credentials("a.py", KEY.encode())


def test_they_are_linked_and_another_key_is_no_other_source(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(f"KEY = '{KEY}'\n")
    (project / ".netrc").write_text("machine x login y password z\n")
    (project / "config.yaml").write_text(f"lr: 0.1\nhub: {KEY}\n")
    before = describe(project)
    assert {item.path: item.kind for item in before.items} == {
        "train.py": "copy",
        ".netrc": "link",
        "config.yaml": "link",
    }
    folder = Workspace(project).experiment("a")
    folder.path.mkdir(parents=True)
    take(before, folder)
    assert os.readlink(folder.snapshot / "config.yaml") == str(project / "config.yaml")
    (project / "config.yaml").write_text(f"lr: 0.1\nhub: {KEY[:-1]}x\n")
    assert describe(project).source == before.source
    (project / "config.yaml").write_text(f"lr: 0.2\nhub: {KEY}\n")
    assert describe(project).source != before.source
