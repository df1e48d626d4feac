"""One self-contained page that works offline: the document with interactive figures."""
