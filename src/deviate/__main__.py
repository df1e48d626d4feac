"""``python -m deviate``."""

from deviate.cli import main

if __name__ == "__main__":
    main()
