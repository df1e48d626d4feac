"""What is said of each topic: its sentences, tables and figure, and the pages on which a reader is shown them."""
