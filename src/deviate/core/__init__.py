"""What every other package may know: experiments, factors, errors, names of secrets; plain data and pure functions."""
