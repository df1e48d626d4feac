"""What a command needs to run as in the project: its words, variables, and the machine it sees."""
