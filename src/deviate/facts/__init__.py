"""What is known of an experiment, a pair, a grid, a gate or a plan: read once, every number that is ever said."""
