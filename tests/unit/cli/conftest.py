from arrangements import arrangements_seen_once  # noqa: F401
from kept_tables import tables_kept  # noqa: F401
