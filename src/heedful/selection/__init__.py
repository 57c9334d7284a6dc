"""Which model to use for given texts: candidates, a race over folds, a choice, and what is said of it."""
