"""Heed."""

import sys

if sys.argv[:1] == ["-m"]:  # `python -m src.<command>` imports this package before anything else
    from src.process.startup import prepare

    prepare()
