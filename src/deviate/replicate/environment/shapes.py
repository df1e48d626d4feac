"""What secrets look like wherever they stand: keys that well-known services issue, passwords in URLs, private keys.

Each pattern begins with a literal or one of few characters, so that searching a log of many megabytes costs little. Of
each the last group is the secret, or all of it where it has none.
"""

from __future__ import annotations

import re

#: What stands for a secret.
STARS = "***"

#: Names of secrets, as lower-case words joined by ``_``; of a longer name the end counts. Compiled at first
#: use by `re`.
NAME = (
    r"(.*_)?("
    r"[a-z]*(password|passwd|passphrase|passcode)|pwd|(db|ssh|smtp|mail|mysql|pg|ftp|http|proxy|root|admin|user)_?pass"
    r"|secrets?|credentials?|creds|authorization|bearer|auth|otp|jwt|cookie|webhook(_url)?|connection_string"
    r"|(gh|github|gitlab|azure|devops)_pat"
    r"|(api|access|private|secret|account|ssh|signing|encryption|license|licence|master|deploy|write|fernet|hmac|jwt"
    r"|sa|gcp|webhook)_?key(_id)?|secret_access_key|apikey"
    r"|(wandb|comet|neptune|openai|anthropic|hf|huggingface|kaggle|cohere|mistral|google|azure|aws|clearml|together"
    r"|groq|gemini|pinecone|deepseek|xai|swanlab)_key"
    r"|(auth|access|api|bearer|refresh|session|security|id|login|user|service|sas|hub|hf|huggingface|github|gh|gitlab"
    r"|git|slack|bot|telegram|neptune|wandb|comet|openai|kaggle|clearml|replicate|dagshub|mlflow|push_to_hub|private"
    r"|personal|deploy|client|app|job|oauth|vault|zenodo|modal|discord)_?token"
    r")|token|(use_)?auth_token"
)

#: In the query of a URL these are, too.
QUERY_NAMES = frozenset({"key", "sig", "signature", "code", "pass", "pw", "jwt", "x_amz_signature", "sas"})

#: How keys of services begin, and what follows: Hugging Face, OpenAI and its like, GitHub, GitLab, AWS, Google, Slack,
#: npm, PyPI, Docker, Stripe, SendGrid, Replicate, NVIDIA, Groq, LangSmith, DigitalOcean, Weights & Biases, Kaggle,
#: Databricks, Vault, Pinecone, Perplexity, xAI, Tavily, RunPod, Modal, Fireworks, Jina, Prefect, Grafana, Supabase,
#: PlanetScale, Doppler, Linear, Notion, Figma, Airtable, Atlassian, Postman, New Relic, Shopify, Square, Sentry,
#: Pulumi, Tailscale, Brevo, Mailgun, Twilio, age; JSON web tokens, and other JSON in base 64.
_KEYS = {
    "hf_": r"[A-Za-z0-9]{20,}", "sk-": r"(?:[A-Za-z0-9]{20,}|(?=[\w-]{0,200}\d)[\w-]{20,})",
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "r8_", "gsk_"), r"[A-Za-z0-9]{30,}"),
    **dict.fromkeys(("glpat-", "glptt-", "gldt-", "glrt-", "dckr_pat_", "xapp-"), r"[\w-]{20,}"),
    "github_pat_": r"\w{30,}",
    **dict.fromkeys(("AKIA", "ASIA"), r"[A-Z0-9]{16}"), "AIza": r"[\w-]{35}", "ya29.": r"[\w-]{20,}",
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), r"[\w-]{10,}"), "pypi-": r"[\w-]{50,}",
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{16,}"), "nvapi-": r"[\w-]{30,}",
    "SG.": r"[\w-]{16,}\.[\w-]{16,}", **dict.fromkeys(("lsv2_pt_", "lsv2_sk_"), r"\w{30,}"),
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{60,}"),
    "eyJ": r"(?:[\w-]{10,}\.[\w-]{10,}\.[\w-]*|[\w+/-]{60,}={0,2})",
    **dict.fromkeys(("KGAT_", "dapi", "SK", "key-"), r"[a-f0-9]{32}(?:-\d)?"),
    **dict.fromkeys(("GOCSPX-", "hvs.", "hvb.", "tvly-", "tskey-", "sq0csp-", "sq0atp-", "dckr_oat_"), r"[\w-]{20,}"),
    **dict.fromkeys(("pplx-", "xai-", "rpa_", "pnu_", "pnb_", "lin_api_", "ntn_", "api_org_"), r"[A-Za-z0-9]{30,}"),
    **dict.fromkeys(("pcsk_", "glsa_", "jina_", "figd_", "wandb_v1_", "ATATT3", "ATCTT3", "CFPAT-"), r"[\w=-]{30,}"),
    **dict.fromkeys(("pscale_tkn_", "pscale_pw_", "dp.pt.", "dp.st.", "sntrys_", "sntryu_"), r"[\w+/=.-]{30,}"),
    **dict.fromkeys(("shpat_", "shpss_", "shpca_", "shppa_", "sbp_", "pul-"), r"[a-f0-9]{32,40}"),
    **dict.fromkeys(("fw_", "ak-", "as-"), r"(?=[a-z0-9]{0,30}[A-Z])(?=[A-Za-z]{0,30}\d)[A-Za-z0-9]{22,24}"),
    "PMAK-": r"[a-f0-9]{24}-[a-f0-9]{34}",
    **dict.fromkeys(("NRAK-", "NRJS-"), r"[A-Za-z0-9]{19,}"),
    "xkeysib-": r"[a-f0-9]{60,}-\w{10,}", "AGE-SECRET-KEY-1": r"[A-Z0-9]{50,}", "pat": r"[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    "whsec_": r"[A-Za-z0-9+/=]{24,}", "1//0": r"[\w-]{40,}",
}  # fmt: skip

#: Each with how it begins.
KEYS = tuple(
    (first, rf"{re.escape(first)}(?<![\w-]{re.escape(first)}){rest}(?![\w-])") for first, rest in _KEYS.items()
)

#: The body of a private key: lines of one word, or of a header, also as they are written in JSON.
PRIVATE = (
    r"PRIVATE KEY(?: BLOCK)?-----"
    r"((?:(?:\\r)?(?:\\n|\r?\n)"
    r"(?:[\w-]{1,40}: [^\n\\]{1,100}|(?!-----)[\w+/=.-]{4,100}(?=\r|\n|\\|\Z)|(?=\\n|\r?\n)))+)"
)

#: ``scheme://user:password@`` and ``scheme://token@``; and ``user:password@host.name`` without a scheme.
IN_URL = r"://([^/\s@'\"]+)@"
IN_ADDRESS = r":(?<=[\w+-]:)([^\s@/:'\"=,]{3,100})@[\w-]+\.[\w.-]+"

#: ``Authorization: Token abc``, and ``Bearer abc`` alone.
BEARER = (
    r"[Bb](?i:earer|asic)(?<![\w-]bearer)(?<![\w-]basic)\s+([\w.~+/=-]{8,})",
    r"[Aa](?i:uthorization)['\"]?\s{0,3}[:=]\s{0,3}['\"]?[A-Za-z]+\s+([\w.~+/=-]{6,})",
)

#: Addresses that are secrets: webhooks of Slack, Discord and Teams, bots of Telegram, channels of conda.
IN_PATH = (
    (("hooks.slack.com",), r"hooks\.slack\.com/\w+/([\w/-]{20,})"),
    (("/webhooks/",), r"/webhooks/\d+/([\w-]{20,})"),
    (("webhook.office.com",), r"webhook\.office\.com/\w+/([\w@/-]{20,})"),
    ((":AA",), r"(?<!\d)\d{8,10}:(AA[\w-]{30,40})"),
    (("/t/",), r"/t/([a-z]{2}-[a-f0-9-]{30,50})(?=/)"),
)

#: Each pattern needs one of the texts beside it to find anything; looking for the texts first is much quicker.
SHAPES = (
    *(((first,), pattern) for first, pattern in KEYS),
    (("PRIVATE KEY",), PRIVATE),
    (("://",), IN_URL),
    (("@",), IN_ADDRESS),
    *IN_PATH,
    (("earer", "EARER", "asic", "ASIC"), BEARER[0]),
    (("uthoriz", "UTHORIZ"), BEARER[1]),
)

#: ``?token=abc``, ``&api_key=abc``: a name and a value of the query of a URL.
QUERY = r"[?&;]([\w.-]{1,60})=([^&\s'\"#;)>]+)"

#: ``password=abc``, ``'api_key': 'abc'``: a plain name of a secret with a value that is no number, switch or reference.
#: `token` and `auth` alone may be of a text that is modelled.
_BEFORE = (
    r"[pPaAsShH](?i:(?<=p)assw(?:or)?d|(?<=p)assphrase|(?<=p)rivate[_-]?key|(?<=a)pi[_-]?key|(?<=a)ccess[_-]?key"
    r"|(?<=a)ccount[_-]?key|(?<=s)ecret[_-]?key|(?<=a)pi[_-]?token|(?<=a)uth[_-]?token|(?<=a)ccess[_-]?token"
    r"|(?<=h)ub[_-]?token|(?<=h)f[_-]?token|(?<=s)ession[_-]?token|(?<=s)ecurity[_-]?token"
    r"|(?<=p)rivate[_-]?token)"
    r"(?:\\?['\"])?\s{0,3}[=:]\s{0,3}"
)
NAMED = _BEFORE + (r"(?:\\?['\"])?(?![*$<{(\[]|(?i:none|null|true|false)\b|[-+\d.eE]+(?!\w))([^\s'\",;&)}\]\\]{3,})")
NAMED_QUOTED = _BEFORE + r"\\?['\"](?![*$<{])([^\s'\"\\]{3,})(?=\\?['\"])"

#: Likewise.
NAMED_MARKS = ("assw", "ASSW", "assphrase", "ASSPHRASE", "ey", "EY", "oken", "OKEN")
