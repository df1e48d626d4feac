"""An experiment's life: what is requested, the experiment that it continues, its runs, each in its own folder."""
