"""`python -m roundsman`."""

from roundsman.cli import main

if __name__ == "__main__":
    main()
