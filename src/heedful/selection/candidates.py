"""The candidates of a shortlist, which conf/shortlist.yaml lists: names, and the overrides of a training."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from heedful.config.compose import read_options
from heedful.config.keys import CONF


@cache
def _listed() -> dict[str, Any]:
    """The first one takes little time, and is what the others are compared with."""
    return read_options(CONF / "shortlist.yaml")


def candidate_names() -> list[str]:
    return list(_listed())


def select_candidates(names: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return candidates by name, of all, or of some and of experiments of the user's in conf/.

    They are the overrides of those that can be trained, and the packages that others lack.
    """
    found, lacking = dict[str, tuple[str, ...]](), dict[str, str]()
    for name in dict.fromkeys(names or _listed()):
        node = _listed().get(name, [f"experiment={name}"])
        if isinstance(node, dict):
            package = node["package"]
            spec = find_spec(package.replace("-", "_"))
            if spec is None or not spec.submodule_search_locations:
                lacking[name] = package
                continue
            folder = spec.submodule_search_locations[0]
            node = [line.replace("{package}", folder) for line in node["overrides"]]
        found[name] = tuple(node)
    return found, lacking
