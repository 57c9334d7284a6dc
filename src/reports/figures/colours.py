"""The colours of all figures."""

WEIGHTS = "Blues"  # colour map of weights: one hue, light to dark, readable in grey and with colour blindness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito 2008
INK, GREY = "#111827", "#6b7280"
