"""The loader with which Heed reads plain YAML."""

from typing import Any

import yaml

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # not every build of PyYAML has the faster C loader
