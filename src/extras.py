"""Optional packages, such as launchers of sweeps, and the extras of Heed that install them."""

from importlib import import_module

from src.errors import UserError

LAUNCHERS = {"joblib": "joblib", "submitit": "submitit", "slurm": "submitit", "ray": "ray"}  # launcher → its extra


def how_to_install(extra: str) -> str:
    """Return an instruction with the command that installs an extra."""
    return f"in Heed's folder, run pip install -c constraints.txt '.[{extra}]'"


def plugin_install_hint(plugin: object) -> str:
    """Return an instruction to install a plugin of Hydra; if no extra contains the plugin, return a question.

    Args:
        plugin: name of a launcher or a sweeper, such as submitit_local.
    """
    extra = LAUNCHERS.get(str(plugin).split("_")[0])
    return how_to_install(extra) if extra else "is its plugin installed?"


class MissingExtra(UserError, ModuleNotFoundError):
    """A package is not installed; the message names the extra that installs it."""


def require_extra(*modules: str, by: str, extra: str) -> None:
    """Check that modules can be imported.

    Args:
        by: the option or command that needs the modules.
        extra: the extra that installs the modules.

    Raises:
        MissingExtra: if a module, or a package that it imports, is not installed.
    """
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{by} needs the package {error.name}, which is part of heed[{extra}]: {how_to_install(extra)}"
            ) from error
