"""Calls and assignments that report something, and the values they report."""
