"""What a value is made of: data flow through expressions, functions, classes and files."""
