"""Make experiments of results that were not run by Deviate."""
