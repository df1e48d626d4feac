"""Where the commands of runs are started."""
