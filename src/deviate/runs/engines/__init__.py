"""What starts workers on other machines."""
