"""Describe errors of Hydra and YAML in one line, and leave out advice to programmers."""

import re

from hydra.errors import HydraException, MissingConfigException
from yaml import YAMLError

from src.misspellings import no_such_choice

# A message of Hydra is cut off where one of these texts begins
ASIDES = ("\nConfig search path", "\nSee http", "\nTo append", "\nAvailable options", "\n    full_key")

PLAINER = {  # pattern of a message → the message that replaces it
    r"Multiple values for|.* appears more than once|force-add of": "is already chosen: remove the +",
    r"Could not override '\S+'\. No match in the defaults list": "is not a group of this command",
    r"Could not override '\S+'\. Did you mean to override (.*)\?": r"is not a group of this command; did you mean \1?",
    r"Could not delete '\S+'\. No match in the defaults list": "has several choices: select another, such as none",
    r"Could not override '(\S+)': Key '(\S+)' is not in struct": r"has no \2 yet: write ++\1=… to add it",
}


def explain(error: HydraException) -> str:
    """Describe an error of Hydra in one line."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group}={name}: {no_such_choice(name, list(error.options))}"
    text = str(error) or str(error.__cause__ or type(error).__name__)
    for aside in ASIDES:
        text = text.partition(aside)[0]
    text = " ".join(text.split())
    if error.__cause__ and str(error):
        text = f"{text.rstrip('.')}: {str(error.__cause__).splitlines()[0]}"
    for pattern, plain in PLAINER.items():
        if match := re.match(pattern, text):
            return match.expand(plain)
    return text


def explain_yaml(error: YAMLError) -> str:
    """Describe the position and the cause of a YAML error."""
    mark = getattr(error, "problem_mark", None)
    place = f"{mark.name}, line {mark.line + 1}" if mark else "a config file"
    return f"{place}: {getattr(error, 'problem', None) or error}"
