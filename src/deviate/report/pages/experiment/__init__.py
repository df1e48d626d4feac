"""The report of one experiment: a module a part of it, put together by `page`."""
