"""Run a training several times, each run in a folder of its own.

workspace    names every file below ``.deviate/``; lock.py lets one tool at a time write there
snapshot     survey.py decides what becomes of each file of the project, snapshot.py copies
prepare      a run's folder: workcopy.py the copy, command.py the command, determinism.py and threads.py its environment
replicate    the stage itself: starts runs through an executor, watches them (supervise.py), stores outcomes (judge.py)
"""
