"""Strategies of Hypothesis to test readers of files: arbitrary JSON values, and damaged copies of a record."""

import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, 1e308, -1, 2**63]))
leaves = st.one_of(
    st.none(), st.booleans(), numbers, st.text(max_size=7), st.sampled_from(["completed", "failed", "\x00"])
)
trees = st.recursive(
    leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner))
)
few_examples = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def damaged(record: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Copies of the record in which one value, at any depth, is replaced or removed."""
    paths = [path for path in _paths(record) if path]

    @st.composite
    def copies(draw: st.DrawFn) -> Any:
        copy: Any = json.loads(json.dumps(record))
        *parents, last = draw(st.sampled_from(paths))
        node = copy
        for key in parents:
            node = node[key]
        if draw(st.booleans()):
            node[last] = draw(trees)
        else:
            del node[last]
        return copy

    return copies()


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _paths(value, (*path, key))
