"""Classify texts without the training framework: python predict.py "A film to remember".

Without texts, the script reads standard input, one text per line in UTF-8. With --abstain=0.02 before them, predictions
with a higher expected error are "unsure". It needs numpy, onnxruntime and tokenizers.
"""

import io
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

LONGEST = 1_000_000  # characters at each end of a text that are read


def spans(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of tokens, of which those of `tokenizers` end before the marks that NFC joins to a letter."""
    if unicodedata.is_normalized("NFC", text):
        return offsets
    starts, longer = {start for start, _ in offsets}, []
    for start, end in offsets:
        while start < end < len(text) and end not in starts and is_joined(text[end]):
            end += 1
        longer.append((start, end))
    return longer


def is_joined(char: str) -> bool:
    """Return whether a character continues the one before it: a mark, or a vowel or final consonant of Hangul."""
    return unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff"


class Classifier:
    """The classifier in a folder; `model` is the name of the ONNX file."""

    def __init__(self, folder: str | Path = Path(__file__).parent, model: str = "model.onnx") -> None:
        folder = Path(folder)
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.unknown = set(self.config["unknown_ids"])  # ids of tokens that the model does not use
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.session = onnxruntime.InferenceSession(str(folder / model), providers=["CPUExecutionProvider"])

    def least_confidence(self, error: float) -> float:
        """Return the lowest confidence from which the expected error on the validation texts was at most `error`."""
        limits = self.config["task"].get("limits", [])
        reached = [confidence for confidence, texts, wrong, *_ in limits if (wrong + 1) / (texts + 1) <= error < 1]
        if not reached:
            raise ValueError(
                f"abstain={error}: no confidence has so low an error on the validation texts, or none is known"
            )
        return reached[-1]

    def __call__(self, texts: list[str], abstain: float | str | None = None) -> list[dict]:
        """Return for each text the label (or the list of its labels), the probabilities, and the weights of the tokens.

        With `abstain`, such as 0.02, labels whose expected error is higher are "unsure".
        `only_unknown` says that no token is known, so the label is a guess. A blank text has no label: all are None.
        """
        least = 0.0 if abstain is None else self.least_confidence(float(abstain))
        limit, names = self.config["max_length"], self.config["class_names"] or ["value"]
        cut = slice(-limit, None) if self.config["keep"] == "last" else slice(limit)
        keys = ("label", "probabilities", "weights", "only_unknown")
        results: list[dict] = [{"text": text, **dict.fromkeys(keys)} for text in texts]
        classified = [result for result in results if result["text"].strip()]
        if not classified:
            return results
        texts = [result["text"] for result in classified]
        read = [text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} {text[-LONGEST:]}" for text in texts]
        encodings = self.tokenizer.encode_batch(read, add_special_tokens=False)
        rows = [[max(i + self.config["id_shift"], 1) for i in encoding.ids[cut]] for encoding in encodings]
        tokens = np.zeros((len(rows), max(map(len, rows)) or 1), dtype=np.int64)  # 0 is padding
        for row, ids in zip(tokens, rows, strict=True):
            row[: len(ids)] = ids
        mask = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids in rows])
        probabilities, weights, *by_class = self.session.run(None, {"tokens": tokens, "mask": mask})
        columns = (classified, read, encodings, rows, probabilities, weights, *by_class)
        for result, part, encoding, ids, chances, row, *own in zip(*columns, strict=True):
            words = [part[start:stop].strip() for start, stop in spans(part, encoding.offsets)[cut]]
            result["label"] = names[int(chances.argmax())] if chances.max() >= least else "unsure"
            if len(names) == 1:  # a number
                result["label"] = float(chances[0])
            if "separator" in self.config["task"]:  # several labels
                limits = self.config["task"]["thresholds"] or [0.5] * len(names)
                reached = (name for name, chance, limit in zip(names, chances, limits, strict=True) if chance >= limit)
                result["label"] = list(reached)
            result["probabilities"] = dict(zip(names, chances.tolist(), strict=True))
            result["weights"] = list(zip(words, row.tolist(), strict=False))
            for weights_of_class in own:  # of each class, if the model has them
                pairs = zip(names, weights_of_class.tolist(), strict=True)
                result["class_weights"] = {name: list(zip(words, each, strict=False)) for name, each in pairs}
            result["only_unknown"] = self.unknown.issuperset(ids)
        return results


if __name__ == "__main__":
    classify = Classifier()
    is_ascii = not sys.stdout.encoding.lower().startswith("utf")
    texts = sys.argv[1:]
    error = texts.pop(0)[10:] if texts and texts[0].startswith("--abstain=") else None
    lines = texts or io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", errors="surrogateescape")
    for number, line in enumerate(lines, start=1):
        try:
            line.encode()
        except UnicodeEncodeError:
            sys.exit(f"Error: text {number} is not UTF-8")
        try:
            print(json.dumps(classify([line.rstrip("\r\n")], error)[0], ensure_ascii=is_ascii))
        except ValueError as mistake:
            sys.exit(f"Error: {mistake}")
