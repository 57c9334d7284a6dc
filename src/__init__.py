"""`python -m src.train` is `heedful train`: the commands of the package in this folder, installed or not."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from heedful.commands import __path__ as __path__
