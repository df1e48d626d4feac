"""Turn the files that runs leave behind into tables."""
