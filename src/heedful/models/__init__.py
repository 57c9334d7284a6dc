"""The components of a classifier, the classifier, its loss and metrics, and ensembles."""
