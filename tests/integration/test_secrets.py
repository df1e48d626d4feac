"""Secrets in 40 places and more: the training sees each, and nothing that Deviate writes or prints has one in clear."""

import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tarfile

import duckdb
import pytest
from cli_tool import deviate

#: Begins each secret that has no shape of its own.
MARK = "Zq7"


def secret(name):
    return f"{MARK}{name}9x"


SHAPED = {
    "hf": "hf_" + "Ab3" * 11, "gh": "ghp_" + "Cd4" * 12, "sk": "sk-proj-" + "Ef5" * 12, "aws": "AKIA" + "GH6J" * 4,
    "google": "AIza" + "Kl7mN" * 7, "gitlab": "glpat-" + "Op8" * 8, "slack": "xoxb-" + "1234567-" * 3 + "Qr9",
    "jwt": "eyJhbGciOiJIUzI1." + "eyJzdWIiOiIxMjM." + "St0UvWxYz", "npm": "npm_" + "Xy1" * 12,
    "stripe": "sk_live_" + "Zz2" * 8, "client": "GOCSPX-" + "Ab1" * 9, "databricks": "dapi" + "0a1b" * 8,
    "vault": "hvs." + "Cd2" * 20, "telegram": "AA" + "Ef3" * 11, "hook": "T01AB/B01CD/" + "Gh4" * 8,
    "neptune": "eyJhcGlfYWRkcmVz" + "Ij5" * 20, "wandb": "wandb_v1_" + "Kl6" * 12, "xai": "xai-" + "Mn7" * 15,
}  # fmt: skip

KEY_BODY = secret("private") + "MIIEvQIBADANBgkqhkiG9w0"

PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----\n"

#: Files of the project by their names, or by what is in them.
FILES = {
    ".env": f"A={secret('env')}\n",
    "prod.env": f"A={secret('prod')}\n",
    ".aws/credentials": f"[default]\naws_secret_access_key = {secret('aws')}\n",
    ".netrc": f"machine api.wandb.ai login user password {secret('netrc')}\n",
    ".pypirc": f"[pypi]\npassword = {secret('pypi')}\n",
    ".npmrc": f"//registry/:_authToken={secret('npmrc')}\n",
    ".git-credentials": f"https://me:{secret('git')}@host\n",
    "id_rsa": PRIVATE_KEY,
    "kaggle.json": json.dumps({"username": "me", "key": secret("kaggle")}),
    "credentials.json": json.dumps({"x": secret("credentials")}),
    "conf/service-account.json": json.dumps({"private_key": secret("account")}),
    "secrets.yaml": f"anything: {secret('yaml')}\n",
    ".docker/config.json": json.dumps({"auths": {"x": {"auth": secret("docker")}}}),
    "gcloud/application_default_credentials.json": json.dumps({"refresh": secret("gcloud")}),
    ".ssh/work": f"{secret('ssh')}\n",
    "server.pem": f"{secret('pem')}\n",
    "config.yaml": f"lr: 0.1\nhub: {SHAPED['hf']}\n",
    "notes.txt": PRIVATE_KEY,
    "app.toml": f"deploy = '{SHAPED['gh']}'\n",
    "settings.json": json.dumps({"private_key": secret("settings")}),
    ".modal.toml": f"[default]\ntoken_secret = '{secret('modal')}'\n",
    ".mytool/settings.yaml": f"server: x\nauth-token: {secret('tool')}\n",
    "client_secret_1-a.apps.googleusercontent.com.json": json.dumps({"id": secret("oauth")}),
    "kubeconfig.yaml": f"client-key-data: {secret('kube')}\n",
}

#: Words of the command.
WORDS = [
    "--api-key", secret("key"), "--token", secret("token"), "--password", "Zq7ab",
    f"--db=postgres://me:{secret('db')}@host/x",
    f"https://host/data?lr=1&token={secret('query')}", f"MY_OWN_TOKEN={secret('word')}",
    f'{{"api_key": "{secret("json")}"}}', "--login", "me", "-p", secret("login"),
    "--cookie", secret("cookie"), "--db-pass", secret("pass"),
]  # fmt: skip

VARIABLES = {
    "MY_TOKEN": secret("variable"), "WANDB_API_KEY": secret("wandb"), "DB_PASSWORD": secret("password"),
    "DATABASE_URL": f"mysql://me:{secret('url')}@host/x", "AWS_SECRET_ACCESS_KEY": secret("secret"),
    "PGPASSWORD": secret("postgres"), "TEAM_WEBHOOK_URL": f"https://host/{secret('webhook')}",
}  # fmt: skip

#: Printed by the program, which has it from nowhere that Deviate sees.
PRINTED = [
    *(SHAPED[name] for name in SHAPED if name not in ("hf", "gh", "aws", "telegram", "hook")),
    f"bot 123456789:{SHAPED['telegram']}", f"https://hooks.slack.com/services/{SHAPED['hook']}",
    f"session_token: {secret('session')}",
    f"password='{secret('printed')}'", f"Authorization: Bearer {secret('bearer')}", PRIVATE_KEY.replace("RSA ", ""),
]  # fmt: skip

#: All that must be nowhere: what has no shape of its own begins with the mark.
SECRETS = [MARK, *SHAPED.values()]

TRAIN = """\
import base64, json, os, random, sys

AWS_ID = "{in_code}"
wanted = json.loads(base64.b64decode("{wanted}"))
for name, text in wanted["files"].items():
    assert open(name).read() == text, name
assert sys.argv[1:] == wanted["words"], sys.argv
assert all(os.environ[name] == value for name, value in wanted["variables"].items())
print("words", sys.argv, "url", sys.argv[-1])
print({{name: os.environ[name] for name in wanted["variables"]}}, file=sys.stderr)
for url in wanted["variables"].values():
    print("connecting as", url.rpartition("@")[0].rpartition(":")[2])
for text in wanted["printed"]:
    print(text)
for epoch in range(3):
    print(f"epoch {{epoch}} loss {{random.random():.4f}} {{sys.argv[2]}}")
open("metrics.csv", "w").write("epoch,loss\\n0,0.5\\n" + sys.argv[2] + ",0.4\\n")
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    place = tmp_path / "project"
    place.mkdir()
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    wanted = {"files": FILES, "words": WORDS, "variables": VARIABLES, "printed": PRINTED}
    # It does not stand in the source as it is, but for one.
    packed = base64.b64encode(json.dumps(wanted).encode()).decode()
    (place / "wanted.txt").write_text(packed)
    source = TRAIN.replace('"{wanted}"', 'open("wanted.txt").read()').format(in_code=SHAPED["aws"])
    (place / "train.py").write_text(source)
    for name, value in {**VARIABLES, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return place


def in_clear(data):
    return [each for each in SECRETS if each.encode() in data]


def decoded(path):
    """Return what a file holds, and what it holds packed."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data += gzip.decompress(data)
    if path.suffix == ".parquet":
        data += repr(duckdb.sql(f"select * from read_parquet('{path}')").fetchall()).encode()
    return data


def leaks(folder, in_code=()):
    """Return the files that hold a secret, with it; no link is followed.

    What the program itself writes stays as it is in its own folder, and code has what is `in_code`.
    """
    found = {}
    for path in folder.rglob("*"):
        own = path.name == "metrics.csv" and path.parent.name != "written"
        if path.is_file() and not path.is_symlink() and not own and (there := in_clear(decoded(path))):
            found[str(path.relative_to(folder))] = there
    is_code = ("train.py", "/instrumented/")
    return {
        name: each for name, each in found.items() if each != [*in_code] or not any(part in name for part in is_code)
    }


def test_no_secret_of_forty_places_is_in_what_is_written_or_printed(project, tmp_path):
    assert len(FILES) + len([word for word in WORDS if MARK in word]) + len(VARIABLES) + len(PRINTED) >= 40
    said = {}

    def typed(*line, status=0):
        done = deviate(*line)
        assert done.status == status, done.err + done.out
        # Letters of the packed library are as good as drawn: some are those of the mark.
        library = re.compile(r'id="chart-library">[^<]*')
        said[" ".join(map(str, line[:4]))] = library.sub("", done.out + done.err)
        return done

    command = ["--", sys.executable, "train.py", *WORDS]
    typed("init", *command)
    (project / "deviate.toml").unlink()
    typed("run", "-n", "1", "--name", "x", *command)
    done = typed("run", "-n", "2", "--name", "x", "--json", *command)
    assert [run["status"] for run in done.json["variants"][0]["runs"]] == ["completed"] * 2
    for form in ("md", "html", "tex", "csv", "json", "neurips", "summary"):
        typed("report", "x", "--format", form)
    for line in (
        ("report", "x", "-v"),
        ("show", "x"),
        ("list",),
        ("logs", "x", "0"),
        ("plan", "x"),
        ("extract", "train.py"),
    ):
        typed(*line)
    typed("run", "-n", "1", "--name", "s", "--executor", "slurm", "--print", *command)
    said["bad"] = deviate("run", "--name", "x", "-n", "many", *command).err
    said["refused"] = deviate("run", "--name", "x", "--then", f"true --api-key {WORDS[1]}", *command).err
    exported = typed("export", "x", "-o", tmp_path / "x.tar.gz")
    typed("export", "s", "-o", tmp_path / "s.tar.gz")
    assert {name: in_clear(text.encode()) for name, text in said.items() if in_clear(text.encode())} == {}
    # The copies of the code are what the runs start; what is given away has stars.
    assert leaks(project / ".deviate", in_code=[SHAPED["aws"]]) == {}
    for name in ("x", "s"):
        with tarfile.open(tmp_path / f"{name}.tar.gz") as archive:
            archive.extractall(tmp_path / name, filter="fully_trusted")
        assert leaks(tmp_path / name) == {}
    assert ".modal.toml" in exported.out
    assert "snapshot/train.py" in exported.out or "train.py" in exported.out
    assert '"AKIA' not in (tmp_path / "x" / "experiment" / "snapshot" / "train.py").read_text()
    # A worker elsewhere trains with the secrets all the same.
    (run,) = (project / ".deviate" / "experiments" / "s" / "runs").iterdir()
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert [in_clear(path.read_bytes()) != [] for path in kept] == [True]
    assert kept[0].parent.stat().st_mode & 0o077 == 0
    made = subprocess.run(
        [sys.executable, "-m", "deviate.runs.worker", run], capture_output=True, text=True, check=True
    )
    assert "completed" in made.stdout
    assert leaks(project / ".deviate", in_code=[SHAPED["aws"]]) == {}
    typed("rm", "s", "--yes")
    assert not [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert os.path.realpath(project / ".netrc") == str(project / ".netrc")
