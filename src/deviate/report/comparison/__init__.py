"""All that is said about two experiments or more beside each other, as data."""
