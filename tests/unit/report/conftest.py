from arrangements import arrangements_seen_once  # noqa: F401
