"""The program `heedful`, which runs a command: `heedful train model/attention=luong_general`."""

import ast
import os
import runpy
import sys
from pathlib import Path

from heedful import __version__
from heedful.commands import set_up
from heedful.config.keys import CONF
from heedful.config.mistakes import no_such


def main(program: str = "heedful ") -> None:
    """Run the command that the first argument names, or list all commands.

    Args:
        program: what the user types before the name of a command.
    """
    name = sys.argv.pop(1) if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h"):
        return print(help_page(program))
    if name == "--version":
        return print(f"heedful {__version__}")
    if name in ("-sc", "--shell-completion"):
        name = completed_command()
        if not (CONF / f"{name}.yaml").is_file():
            return None if name else print(*commands())
        sys.argv.insert(1, "--shell-completion")
    elif name not in commands(name if name.isidentifier() else ""):
        raise SystemExit(f"Error: {name}: {no_such('command', name, commands())}")
    else:
        set_up(name, program)
    if not sys.flags.safe_path:  # as for `python -m`: mine.py in the current folder can be imported
        try:
            sys.path.insert(0, os.getcwd())
        except FileNotFoundError:
            raise SystemExit("Error: the current folder no longer exists: change to another one") from None
    runpy.run_module(f"heedful.commands.{name}", run_name="__main__", alter_sys=True)


def completed_command() -> str:
    """Return the command on the line that a shell completes, and remove it for Hydra; empty if it is not complete.

    Without such a line, a shell installs the completion, which is the same for all commands.
    """
    program, _, rest = os.environ.get("COMP_LINE", "heedful train ").lstrip().partition(" ")
    name, is_complete, words = rest.lstrip().partition(" ")
    os.environ["COMP_LINE"] = f"{program} {words}"
    return name if is_complete else ""


def commands(pattern: str = "*") -> dict[str, str]:
    """Return what each command does, by its name: the part of its docstring before the example."""
    files = Path(__file__).parent.glob(f"commands/{pattern}.py")
    modules = {path.stem: ast.parse(path.read_text("utf-8")) for path in files}
    runnable = {name: tree for name, tree in modules.items() if ast.unparse(tree.body[-1]).startswith("if __name__")}
    return {name: (ast.get_docstring(tree) or "").partition(":")[0] for name, tree in sorted(runnable.items())}


def help_page(program: str) -> str:
    """Return the list of the commands."""
    lines = [f"  {name:13} {about}" for name, about in commands().items()]
    usage = f"Usage: {program}<command> [flags] [key=value …]"
    return "\n".join([usage, "", *lines, "", f"{program}<command> --help shows the options and flags of a command."])


if __name__ == "__main__":
    main("python -m heedful ")
