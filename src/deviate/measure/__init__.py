"""From samples to numbers: pure functions, arrays in, frozen results out."""
