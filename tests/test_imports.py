"""The imports between the modules and the packages of Heedful have no cycles, and importing it changes nothing."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.forks import complete
from tests.helpers import ROOT, command

MODULES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "src" / "heedful").rglob("*.py")
}


def imports(node: ast.AST, in_functions: bool = False) -> Iterator[str]:
    """The names that a module imports when it is imported (or also in functions), without those of type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif in_functions or not isinstance(child, ast.FunctionDef):
            yield from imports(child, in_functions)


@cache
def dependencies(module: str, path: Path, in_functions: bool = False) -> set[str]:
    """The modules and packages that `module` imports, without the packages that contain it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [name.split(".") for name in imports(tree, in_functions)]
    loaded = {".".join(name[:length]) for name in names for length in range(1, len(name) + 1)}
    return {name for name in loaded & MODULES.keys() if not f"{module}.".startswith(f"{name}.")}


def test_no_import_is_circular() -> None:
    assert len(MODULES) > 100
    graph = {module: dependencies(module, path) for module, path in MODULES.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(MODULES)


def test_comparing_runs_does_not_import_torch() -> None:
    """Importing torch takes seconds, and a comparison only reads files."""
    pending = [*(module for module in MODULES if module.startswith("heedful.compare")), "heedful.commands.compare"]
    reached = set[str]()
    while pending:
        module = pending.pop()
        if module not in reached:
            reached.add(module)
            pending += dependencies(module, MODULES[module])
    assert {"heedful.tasks.scores", "heedful.runs.run_files"} <= reached
    names = {name for module in reached for name in imports(ast.parse(MODULES[module].read_text("utf-8")))}
    assert not {name for name in names if name.split(".")[0] in ("torch", "torchmetrics", "pytorch_lightning")}


PACKAGES = (  # each imports only earlier ones
    *("base", "kernels", "config", "tasks", "data", "runs", "records", "terms", "models", "report", "compare"),
    *("training", "portable", "inference", "faithfulness", "launch", "selection", "commands", "sweep"),
)


def test_packages_import_downwards() -> None:
    """This includes the imports in functions, which only delay slow imports."""
    assert sorted(PACKAGES) == sorted(path.parent.name for path in (ROOT / "src" / "heedful").glob("*/__init__.py"))
    for module, path in MODULES.items():
        package = module.partition(".")[2].split(".")[0]
        later = PACKAGES[PACKAGES.index(package) + 1 :] if package in PACKAGES else ()
        names = {name.split(".")[1] for name in dependencies(module, path, in_functions=True) if name.count(".")}
        assert not names & set(later), module


PACKAGE = """
import sys
from tests.process_state import process_state

before = process_state()
import heedful
assert process_state() == before and not {"torch", "pytorch_lightning", "hydra", "numpy", "sklearn"} & set(sys.modules)
assert {"load", "train", "TextClassifier"} < set(dir(heedful)) == set(heedful.__all__)
import heedful.sweep.preload  # which changes the server of a sweep alone
assert process_state() == before
"""
IN_A_FORK = """
import sys
from tests.forks import CHANGES, ENTRY_POINTS, import_unchanged

for name in ENTRY_POINTS:  # the server has imported the others
    import_unchanged(name)
assert not CHANGES, CHANGES
assert len([name for name in sys.modules if name.startswith("heedful.")]) > 150
faked = [name for name, module in sys.modules.items() if name.startswith("wandb") and not hasattr(module, "__spec__")]
assert not faked
"""


def test_importing_the_package_or_its_modules_changes_nothing_in_the_process(tmp_path: Path) -> None:
    (python, *_), options = command(tmp_path, "train")
    fresh = subprocess.run([python, "-c", PACKAGE], **options, capture_output=True, check=False)
    forked = complete([python, "-c", IN_A_FORK], options)
    assert (fresh.returncode, forked.returncode) == (0, 0), fresh.stderr + forked.stderr
