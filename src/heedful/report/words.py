"""Words and their weights, prepared for tables, figures and pages."""

from collections.abc import Sequence

import numpy as np

from heedful.report.section import ColouredWord, Content, Group, Maps, Strip, Table
from heedful.runs.examples import BranchWords, Example

STRIP_NOTE = (
    "The stronger the colour of a word, the larger its attention weight; point at a word to show the weight. The full "
    "colour marks the largest weight of the text, or three times the uniform weight if this is larger."
)
CLASSES_NOTE = "Each class has weights of its own; the first text of each group shows their mean over all classes."
BRANCH_NOTE = (
    "Each n-gram raises (blue) or lowers (red) the linear branch's {}; its share is divided equally among the words of "
    "the n-gram."
)
MEASURES = {"log odds": "log odds of the predicted class against all other classes"}
UNUSED_NOTE = "The network is not used: the linear branch has 100 % of the logits"
MAP_NOTE = "In a map, rows are attending words and columns are attended words; each row sums to 1."
MAX_CLASSES = 5  # maximum number of classes listed for a text
JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # inside emoji, and inside words of several scripts
MAP_QUANTILE = 0.995  # the quantile of a map's weights that gets the full colour, to keep small weights visible


def coloured_words(words: Sequence[str], weights: np.ndarray) -> list[ColouredWord]:
    """Return the words with the depth of their colour and a tooltip that shows the weight."""
    weights = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    limit, count = colour_limit(weights), max(1, len(weights))
    return [
        ColouredWord(word, weight / limit, f"weight {weight:.4f}, {weight * count:.1f} × uniform")
        for word, weight in zip(words, weights.tolist(), strict=True)
    ]


def signed_words(words: Sequence[str], branch: BranchWords) -> list[ColouredWord]:
    """Return the words with the depth of their colour, negative for negative shares, and a tooltip with the share."""
    limit = np.abs(branch.shares).max(initial=0.0) or 1.0
    return [
        ColouredWord(word, share / limit, f"{branch.measure} {share:+.3f}")
        for word, share in zip(words, branch.shares.tolist(), strict=True)
    ]


def branch_title(weight: float) -> str:
    return f"linear branch, {100 * weight:.0f} % of the logits"


def example_content(example: Example) -> Group:
    """Return a text with its most probable classes, attention weights, maps and most attended words."""
    likeliest = sorted(example.probabilities.items(), key=lambda item: -item[1])[:MAX_CLASSES]
    classes = ", ".join(f"{name} {probability:.3f}" for name, probability in likeliest)
    content: list[Content] = [*example_strips(example, classes)]
    maps: dict[str, np.ndarray] = {}
    for layer, heads in example.maps.items() if example.sole_branch is None else ():
        maps[f"{layer}, mean of heads" if len(heads) > 1 else layer] = heads.mean(0)
        maps |= {f"{layer}, head {number}": head for number, head in enumerate(heads, 1) if len(heads) > 1}
    if maps:
        content.append(Maps(example.words, maps))
    if tables := words_tables(example):
        content.append(Group("Most attended words", tables, is_open=False))
    return Group(example.title, content)


def example_strips(example: Example, title: str) -> list[Strip]:
    """Return the words with their attention weights, also those of predicted classes, and their shares in a branch.

    Where the branch has all the weight, its shares alone are returned.
    """
    if example.sole_branch is not None:
        return [Strip(f"{title}; {branch_title(example.sole_branch.weight)}", example_words(example))]
    strips = [Strip(title, coloured_words(example.words, example.weights))]
    for name, weights in example.label_weights.items():
        strips.append(Strip(f"weights of {name}", coloured_words(example.words, weights)))
    if example.branch is not None:
        strips.append(Strip(branch_title(example.branch.weight), signed_words(example.words, example.branch)))
    return strips


def example_words(example: Example) -> list[ColouredWord]:
    """Return the words with their attention weights, or with their shares in a branch that has all the weight."""
    if (branch := example.sole_branch) is not None:
        return signed_words(example.words, branch)
    return coloured_words(example.words, example.weights)


def example_notes(examples: Sequence[Example]) -> str:
    measure = next((example.branch.measure for example in examples if example.branch is not None), "")
    branch_note = BRANCH_NOTE.format(MEASURES.get(measure, measure))
    if any(example.sole_branch is not None for example in examples):
        return f"{UNUSED_NOTE}, and attention explains nothing. {branch_note}"
    notes = [STRIP_NOTE]
    if any(example.label_weights for example in examples):
        notes.append(CLASSES_NOTE)
    if any(example.maps for example in examples):
        notes.append(MAP_NOTE)
    if measure:
        notes.append(branch_note)
    return " ".join(notes)


def words_tables(example: Example, count: int = 10) -> list[Table]:
    """Return the table of the words with the largest weights, and one for each predicted class with its own weights.

    There are none where a branch has all the weight.
    """
    if example.sole_branch is not None:
        return []
    weights = {"most attended": example.weights}
    weights |= {f"weights of {clean_text(name)}": weight for name, weight in example.label_weights.items()}
    tops = {title: top_words(example.words, weight, count) for title, weight in weights.items()}
    return [_words_table([title, "weight"], top, ".4f") for title, top in tops.items()]


def branch_table(words: Sequence[str], branch: BranchWords, count: int) -> Table:
    return _words_table([branch_title(branch.weight), branch.measure], top_shares(words, branch, count), "+.3f")


def _words_table(head: list[str], top: Sequence[tuple[int, str, float]], form: str) -> Table:
    rows = [[clean_text(word), f"{value:{form}}", str(position + 1)] for position, word, value in top]
    return Table([*head, "position"], rows)


def top_shares(words: Sequence[str], branch: BranchWords, count: int) -> list[tuple[int, str, float]]:
    """Return (position from 0, word, share) of the words with the largest shares, positive or negative."""
    top = top_words(words, np.abs(branch.shares), count)
    return [(position, word, float(branch.shares[position])) for position, word, _ in top]


def top_words(words: Sequence[str], weights: np.ndarray, count: int = 10) -> list[tuple[int, str, float]]:
    """Return (position from 0, word, weight) of the most attended words, by descending weight, then by position."""
    weights = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    order = np.argsort(-weights, kind="stable")[:count]
    return [(int(index), words[index], float(weights[index])) for index in order]


def colour_limit(weights: np.ndarray, quantile: float = 1.0) -> float:
    """Return the weight that gets the full colour: the largest weight, but at least three times the uniform weight.

    Uniform weights therefore get a light colour. The limit is at most 1.

    Args:
        weights: weights that sum to 1 over the last axis.
        quantile: quantile of the weights that replaces the largest weight.
    """
    if weights.size == 0:
        return 1.0
    return max(float(np.quantile(weights, quantile)), min(1.0, 3 / weights.shape[-1]))


def clean_text(text: str, max_length: int = 28) -> str:
    """Remove unprintable characters and surrounding spaces, and shorten the text; return “␣” if nothing remains."""
    printable = "".join(letter for letter in text if letter.isprintable() or letter in JOINERS).strip(f" {JOINERS}")
    return (printable or "\N{OPEN BOX}") if len(printable) <= max_length else f"{printable[: max_length - 1]}…"
