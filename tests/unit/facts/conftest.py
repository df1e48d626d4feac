from arrangements import arrangements_seen_once, planned_once  # noqa: F401
