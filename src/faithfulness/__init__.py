"""How faithfully attention weights and other rankings of tokens account for a prediction."""

MEASURES = ("removal", "unknown", "soft", "limits", "flip", "polarity", "agreement")
