"""Where Hydra finds our sweeper: it takes plugins from packages of this name alone."""

from src.sweep.sweeper import GridOrSearch


class Sweeper(GridOrSearch):
    """See `src.sweep.sweeper`."""
