"""What a program reported: numbers in its output and in the files it wrote, as series of slots."""
