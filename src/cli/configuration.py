"""The modules that the user trusts."""

from collections.abc import Set

from src.cli.parsing import ParsedOverride
from src.config.composition import Repository
from src.config.places import TRUSTED
from src.config.schema import trusted_modules


def trusted_by_user(repository: Repository, overrides: list[ParsedOverride], built_in: Set[str] = TRUSTED) -> Set[str]:
    """Return `built_in` and the modules trusted on the command line or in conf/extras, but not in any other file."""
    extras = [override.line for override in overrides if override.lines and override.key.split(".")[0] == "extras"]
    cfg, _ = repository.without_added_folders().compose_valid(extras)
    return trusted_modules(cfg, built_in)
