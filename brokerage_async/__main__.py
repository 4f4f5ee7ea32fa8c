"""``python -m brokerage_async`` is the console script."""

from .cli import main

if __name__ == "__main__":
    main()
