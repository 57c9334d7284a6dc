"""One figure per module: functions from data to a matplotlib Figure, without global state."""
