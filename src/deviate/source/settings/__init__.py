"""What a program's settings are: as its source declares them, its command gives them, and its files list them."""
