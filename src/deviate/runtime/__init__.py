"""The code that enters the user's process.

Nothing of Deviate imports it: the folder `injected` is put on the PYTHONPATH of the training.
"""
