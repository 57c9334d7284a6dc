"""The names of measures and of rankings of tokens, with the headings of tables."""

from typing import NamedTuple

MEASURES = ("removal", "unknown", "soft", "limits", "flip", "polarity", "agreement", "plausibility")
TRAINING = ("guides", "adversary")  # measures that train models
GUIDES = ("guide_uniform", "guide_attention", "guide_learned")  # simple models, named after the weights they use
LAMBDAS = (0.0, 0.001, 0.01, 0.1)  # weights of the attention's divergence in the loss of an adversary

ATTENTION, ATTENTION_GRADIENT = "attention", "attention × gradient"
GRADIENT, INTEGRATED = "gradient × input", "integrated gradients"
LEAVE_ONE_OUT, RANDOM, UNIFORM = "leave-one-out", "random", "uniform"
RANKINGS = (ATTENTION, ATTENTION_GRADIENT, GRADIENT, INTEGRATED, LEAVE_ONE_OUT, RANDOM, UNIFORM)
WITHOUT_ATTENTION = ("none", "uniform")  # choices of attention without trained weights


class Column(NamedTuple):
    """A measure of a ranking, with its headings."""

    name: str
    heading: str
    faithful_values: str  # high or low: the values that faithful rankings have


COLUMNS = (
    Column("normalized_comprehensiveness", "normalized comprehensiveness", "high"),
    Column("normalized_sufficiency", "normalized sufficiency", "low"),
    Column("comprehensiveness_removal", "comprehensiveness", "high"),
    Column("sufficiency_removal", "sufficiency", "low"),
    Column("flip", "removed until the class changes", "low"),
    Column("polarity", "polarity violations", "low"),
    Column("comprehensiveness_unknown", "comprehensiveness, unknown token", "high"),
    Column("sufficiency_unknown", "sufficiency, unknown token", "low"),
    Column("soft_comprehensiveness", "soft comprehensiveness", "high"),
    Column("soft_sufficiency", "soft sufficiency", "low"),
    Column("auprc", "AUPRC of human rationales", "high"),
    Column("token_f1", "token F1 of human rationales", "high"),
    Column("iou_f1", "IOU F1 of human rationales", "high"),
)
AGREEMENT = {
    "tau_gradient": "τ with gradient",
    "tau_leave_one_out": "τ with leave-one-out",
    "permuted": "TVD, permuted weights",
    "uniform": "TVD, uniform weights",
    "adversarial": "JSD, adversarial weights",
}
SEED_AGREEMENT = {
    "seeds_classes": "classes: equal",
    "seeds_predictions": "classes: 1 − TVD",
    "seeds_predictions_above_chance": "classes: above chance",
    "seeds_attention": "weights: 1 − TVD",
    "seeds_attention_above_chance": "weights: above chance",
    "seeds_attention_top": "weights: common top 10 %",
    "seeds_attention_divergence": "weights: JSD",
}
ACCURACY = {
    "accuracy": "accuracy",
    "accuracy_difference": "minus uniform attention",
    "guide_uniform": "guide, uniform weights",
    "guide_attention": "guide, attention",
    "guide_difference": "difference",
    "guide_learned": "guide, own weights",
}
ADVERSARIES = {strength: (f"adversary_tvd_{strength:g}", f"adversary_jsd_{strength:g}") for strength in LAMBDAS}
ADVERSARY_ARRAYS = tuple(name for names in ADVERSARIES.values() for name in names)
