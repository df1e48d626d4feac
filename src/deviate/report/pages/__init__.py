"""Facts as pages: which sections, tables and figures a reader is shown, and in which order."""
