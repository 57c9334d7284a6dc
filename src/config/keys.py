"""The keys of a configuration by their meaning, and their earlier names."""

from typing import Any

RENAMED = {  # earlier name, as a dotted path → present name
    "per_part": "param_groups",
    "hydra.sweeper.search.at_once": "hydra.sweeper.search.n_jobs",
    "hydra.sweeper.search.startup": "hydra.sweeper.search.n_startup_trials",
}


def present_name(path: str) -> str | None:
    """The present name of a renamed key or of a key within it; None if it was not renamed."""
    for earlier, present in RENAMED.items():
        if path == earlier or path.startswith(f"{earlier}."):
            return present + path[len(earlier) :]
    return None


def with_present_names(config: dict[str, Any]) -> dict[str, Any]:
    """A stored configuration with the present names of its top-level keys."""
    return {RENAMED.get(key, key): value for key, value in config.items()}
