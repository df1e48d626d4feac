"""Look before compute is spent: trial runs of a command, and the facts that follow from them."""
