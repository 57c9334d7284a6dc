"""The extra that installs each launcher."""

from src.extras import how_to_install

EXTRAS = {"joblib": "joblib", "submitit": "submitit", "slurm": "submitit", "ray": "ray"}


def install_hint(launcher: object) -> str | None:
    """Return the command that installs a launcher; None if no extra of Heed's installs it."""
    extra = EXTRAS.get(str(launcher).split("_")[0])
    return extra and how_to_install(extra)
