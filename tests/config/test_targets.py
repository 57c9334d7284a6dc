import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from src.config.targets import TRUSTED, find_class
from tests.config.parts import Encoder

TESTS = TRUSTED | {"tests"}


def test_a_trusted_class_is_found() -> None:
    assert find_class("tests.config.parts.Encoder", TESTS) is Encoder


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("os.system", "os is not a trusted module; if you trust it, write extras.trusted_modules=[os]"),
        ("builtins.eval", "builtins is not a trusted module"),
        ("test.config.parts.Encoder", "test is not a trusted module; did you mean tests?"),
        ("torch.os.system", "is not a class: write the dotted path of a class"),
        ("torch.hub.load", "is not a class"),
        ("tests.config.parts", "is not a class"),
        ("tests.config.parts.Sequence", "collections is not a trusted module"),
        ("tests.config.parts.Encoder.__init__", "is not a class"),
        ("tests.config.parts.Encoder.__class__", "abc is not a trusted module"),
        (
            "tests.config.parts.Encodr",
            "tests.config.parts has no Encodr; did you mean tests.config.parts.Encoder?",
        ),
        ("tests.config.prats.Encoder", "tests.config has no prats; did you mean tests.config.parts?"),
        ("tests.config.parts.Encoder.Inner", "tests.config.parts.Encoder has no Inner"),
        ("tests", "is not a class"),
        ("", "must be the dotted path of a class"),
        ("torch..nn", "must be the dotted path of a class"),
        (".torch.nn", "must be the dotted path of a class"),
        (3, "must be the dotted path of a class"),
        (None, "must be the dotted path of a class"),
    ],
)
def test_other_targets_are_refused(target: object, message: str) -> None:
    with pytest.raises(ValueError) as error:
        find_class(target, TESTS)
    assert str(error.value).startswith(message)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a user's package, whose module `lame` imports a module that does not exist."""
    (tmp_path / "mine_of_tests").mkdir()
    (tmp_path / "mine_of_tests" / "__init__.py").write_text("class Mine: ...\n")
    (tmp_path / "mine_of_tests" / "lame.py").write_text("import nowhere_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "mine_of_tests"
    for name in [name for name in sys.modules if name.startswith("mine_of_tests")]:
        del sys.modules[name]


def test_an_untrusted_module_is_not_imported(package: str) -> None:
    with pytest.raises(ValueError, match="not a trusted module"):
        find_class(f"{package}.Mine", TRUSTED)
    assert package not in sys.modules


def test_a_package_of_the_user_may_be_trusted(package: str) -> None:
    assert find_class(f"{package}.Mine", TRUSTED | {package}).__name__ == "Mine"


def test_a_missing_dependency_of_a_module_is_reported(package: str) -> None:
    with pytest.raises(ValueError, match=r"mine_of_tests\.lame needs the module nowhere_at_all"):
        find_class(f"{package}.lame.Thing", TRUSTED | {package})


def test_a_module_that_does_not_exist_is_reported() -> None:
    with pytest.raises(ValueError, match="no such module: nowhere_at_all"):
        find_class("nowhere_at_all.Thing", TRUSTED | {"nowhere_at_all"})
