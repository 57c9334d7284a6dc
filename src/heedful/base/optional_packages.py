"""Optional packages, such as launchers of sweeps, and the extras of Heedful that install them."""

from importlib import import_module

from heedful.base.errors import UserError

LAUNCHERS = {"joblib": "joblib", "submitit": "submitit", "slurm": "submitit", "ray": "ray"}  # launcher → its extra
INSTALL = "run pip install 'heedful[{}]'"


def plugin_install_hint(plugin: object) -> str:
    """Return an instruction to install a plugin of Hydra, such as submitit_local."""
    extra = LAUNCHERS.get(str(plugin).split("_")[0])
    return INSTALL.format(extra) if extra else "is its plugin installed?"


class MissingExtra(UserError, ModuleNotFoundError):
    """A package is not installed; the message names the extra that installs it."""


def require_extra(*modules: str, by: str, extra: str) -> None:
    """Import modules that the option or command `by` needs; if one is missing, the error names the extra."""
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            needed = f"{by} needs the package {error.name}, which is part of heedful[{extra}]"
            raise MissingExtra(f"{needed}: {INSTALL.format(extra)}") from error
