"""What a program reported in text: numbers in its output and in the files it wrote."""
