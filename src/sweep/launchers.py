"""Which extra brings which launcher."""

EXTRAS = {"joblib": "joblib", "submitit": "submitit", "slurm": "submitit", "ray": "ray"}


def how_to_install(launcher: object) -> str | None:
    """The command that installs a launcher; None if no extra of Heed's brings it."""
    extra = EXTRAS.get(str(launcher).split("_")[0])
    return extra and f"in Heed's folder, run pip install -c constraints.txt '.[{extra}]'"
