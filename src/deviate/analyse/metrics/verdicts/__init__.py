"""Whether a reported value is a metric, and why."""
