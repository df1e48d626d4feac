"""Run a training several times, each run in a folder of its own."""
