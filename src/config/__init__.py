"""Configuration: how a command line becomes one, and what is said about it before anything runs."""

from src.config.check import check
from src.config.command import entry

__all__ = ["check", "entry"]
