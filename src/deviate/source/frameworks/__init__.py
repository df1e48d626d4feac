"""What deep-learning frameworks report and run by themselves."""
