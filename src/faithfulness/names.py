"""The names of the measures that a user selects, and of the rankings of tokens."""

MEASURES = ("removal", "unknown", "soft", "limits", "flip", "polarity", "agreement", "plausibility")

ATTENTION, ATTENTION_GRADIENT = "attention", "attention × gradient"
GRADIENT, INTEGRATED = "gradient × input", "integrated gradients"
LEAVE_ONE_OUT, RANDOM, UNIFORM = "leave-one-out", "random", "uniform"
RANKINGS = (ATTENTION, ATTENTION_GRADIENT, GRADIENT, INTEGRATED, LEAVE_ONE_OUT, RANDOM, UNIFORM)
