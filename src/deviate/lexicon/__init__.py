"""What names and words say of the values they stand for."""
