"""An experiment's life: what is requested, the experiment that it continues, the loop of runs."""
