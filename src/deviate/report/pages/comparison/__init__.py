"""The pages of a comparison: a module a part of it, put together by `page`."""
