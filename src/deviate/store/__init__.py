"""The files below ``.deviate/``: their names, how they are written and read, who may write."""
