"""One self-contained page that works offline, with interactive figures."""
