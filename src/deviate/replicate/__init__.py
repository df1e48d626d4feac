"""Run a training several times, each run in a folder of its own.

workspace    names every file below ``.deviate/``, reads and writes them; one tool at a time writes there
snapshot     decides what becomes of each file of the project, copies it, and makes each run's copy
environment  the command of a run, with variables that hold and record what numerical libraries do
executors    start commands, and say when they have ended
prepare      makes a run ready; outcomes.py says what became of it
loop         the stage itself: which runs are made when, and what is stored of them
"""
