"""One file per format; writers lay a document out and add no number and no sentence of their own."""
