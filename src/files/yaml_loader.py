"""The loader with which PyYAML reads plain YAML."""

from typing import Any

import yaml

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, but missing if PyYAML was built without C
