"""The names of the measures that a user selects, and of the rankings of tokens."""

MEASURES = ("removal", "unknown", "soft", "limits", "flip", "polarity", "agreement", "plausibility")
TRAINING = ("guides", "adversary")  # measures that train models
GUIDES = ("guide_uniform", "guide_attention", "guide_learned")  # simple models, by their weights
LAMBDAS = (0.0, 0.001, 0.01, 0.1)  # weights of the divergence of the attention in an adversary's loss

ATTENTION, ATTENTION_GRADIENT = "attention", "attention × gradient"
GRADIENT, INTEGRATED = "gradient × input", "integrated gradients"
LEAVE_ONE_OUT, RANDOM, UNIFORM = "leave-one-out", "random", "uniform"
RANKINGS = (ATTENTION, ATTENTION_GRADIENT, GRADIENT, INTEGRATED, LEAVE_ONE_OUT, RANDOM, UNIFORM)
WITHOUT_ATTENTION = ("none", "uniform")  # attentions whose weights are not trained
