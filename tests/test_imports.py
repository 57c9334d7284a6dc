"""The imports between the modules of src/ have no cycles, so any module can be imported first."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from tests.helpers import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "src").rglob("*.py")
}


def imports(nodes: list[ast.stmt]) -> Iterator[str]:
    """The names that a module imports when it is imported, without imports in functions and for type checkers."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from imports(node.body + node.orelse)
        elif isinstance(node, (ast.Try, ast.With, ast.ClassDef)):
            yield from imports(node.body)


def dependencies(module: str, path: Path) -> set[str]:
    """The modules and packages that `module` imports, without the packages that contain it."""
    names = [name.split(".") for name in imports(ast.parse(path.read_text(encoding="utf-8")).body)]
    loaded = {".".join(name[:length]) for name in names for length in range(1, len(name) + 1)}
    return {name for name in loaded & MODULES.keys() if not f"{module}.".startswith(f"{name}.")}


def test_no_import_is_circular() -> None:
    assert len(MODULES) > 100
    order = list(
        TopologicalSorter({module: dependencies(module, path) for module, path in MODULES.items()}).static_order()
    )
    assert set(order) == set(MODULES)


def test_data_do_not_depend_on_models() -> None:
    names = {
        name for module, path in MODULES.items() if module.startswith("src.data") for name in dependencies(module, path)
    }
    assert "src.errors" in names
    assert not {name for name in names if name.startswith(("src.models", "src.build", "src.kernels"))}


def test_comparing_runs_does_not_import_torch() -> None:
    """Importing torch takes seconds, and a comparison only reads files."""
    pending, reached = ["src.compare", *(module for module in MODULES if module.startswith("src.compare"))], set()
    while pending:
        module = pending.pop()
        if module not in reached:
            reached.add(module)
            pending += dependencies(module, MODULES[module])
    assert {"src.terms.scores", "src.records.files"} <= reached
    names = {name for module in reached for name in imports(ast.parse(MODULES[module].read_text("utf-8")).body)}
    assert not {name for name in names if name.split(".")[0] in ("torch", "torchmetrics", "pytorch_lightning")}


LAYERS = ("records", "terms", "report", "compare", "faithfulness")  # each imports only earlier ones


def test_the_packages_of_the_analysis_import_downwards() -> None:
    for number, layer in enumerate(LAYERS):
        above = tuple(f"src.{name}." for name in LAYERS[number + 1 :])
        modules = [module for module in MODULES if f"{module}.".startswith(f"src.{layer}.")]
        names = {name for module in modules for name in dependencies(module, MODULES[module])}
        assert modules and not {name for name in names if f"{name}.".startswith(above)}, layer
