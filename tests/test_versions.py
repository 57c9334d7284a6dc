"""The versions that `make` installs are among those that pyproject.toml allows."""

import tomllib

from packaging.requirements import Requirement

from tests.helpers import ROOT


def test_the_pinned_versions_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    required = [Requirement(text) for group in groups for text in group]
    for requirement in [requirement for requirement in required if requirement.name != project["name"]]:
        name = requirement.name.lower()
        versions = [next(iter(pin.specifier)).version for pin in pins if pin.name == name]
        assert versions and all(map(requirement.specifier.contains, versions)), requirement
