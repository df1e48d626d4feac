"""Turn the record files of runs into tables."""
