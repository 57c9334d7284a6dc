"""Classify texts without the training framework: python predict.py "A film to remember".

Without texts, the script reads standard input, one text per line in UTF-8. If the model reads pairs, a tab divides the
two texts of a line or argument. If it reads columns beside the text, a text may be a JSON object, such as
{"text": "A film to remember", "age": 31}. With --abstain=0.02 before the texts, predictions with a higher expected
error are "unsure". The script needs numpy, onnxruntime and tokenizers.
"""

import io
import json
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from heedful.runtime import (
    UNSURE,
    Fault,
    blank_if_missing,
    choose_limit,
    cut,
    features,
    is_blank,
    pair_bounds,
    reached,
    spans,
    spellings,
)


class Classifier:
    """The classifier in a folder; `model` is the name of the ONNX file."""

    def __init__(self, folder: str | Path = Path(__file__).parent, model: str = "model.onnx") -> None:
        folder = Path(folder)
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.names = self.config["class_names"] or ["value"]
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{folder / 'config.json'}: two classes have the same name: export the model again")
        self.classified, self.unseen = 0, Counter[str]()  # texts so far; cells of unseen categories, by column
        self.unknown = set(self.config["unknown_ids"])  # ids of tokens that the model does not use
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors also raise exceptions, so they need not be logged
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # beside busy processes, it costs much
        self.session = onnxruntime.InferenceSession(str(folder / model), options, providers=["CPUExecutionProvider"])
        width = self.session.get_outputs()[0].shape[1]
        if isinstance(width, int) and width != len(self.names):  # else its name
            known = f"{len(self.names)} classes, but {folder / model} computes {width} probabilities"
            raise ValueError(f"{folder / 'config.json'}: {known}: export the model again")

    def least_confidence(self, error: float) -> float:
        """Return the lowest confidence from which the expected error on the validation texts was at most `error`."""
        limit = choose_limit(self.config["task"].get("limits", []), error) if error < 1 else None
        if limit is None:
            raise ValueError(
                f"abstain={error}: no confidence has so low an error on the validation texts, or none is known"
            )
        return float(limit[0])

    def __call__(
        self, texts: list, abstain: float | str | None = None, columns: list[dict] | None = None
    ) -> list[dict]:
        """Return for each text the label (or the list of its labels), the probabilities, and the weights of the tokens.

        If the model reads pairs, each text is a pair of two. `columns` has the further cells of each text by column, if
        the model reads any; without them, all are missing. With `abstain`, such as 0.02, labels whose expected error is
        higher are "unsure". `only_unknown` says that no token is known, so the label is a guess. A blank text, or a
        pair with a blank text, has no label: all are None.
        """
        least = 0.0 if abstain is None else self.least_confidence(float(abstain))
        keys = ("label", "probabilities", "weights", "only_unknown")
        results: list[dict] = [{"text": text, **dict.fromkeys(keys)} for text in texts]
        parts = [self.parts(number, text) for number, text in enumerate(texts)]
        selected = [i for i, text in enumerate(parts) if not is_blank(text)]
        if not selected:
            return results
        read = [self.read(parts[i]) for i in selected]
        tokens = np.zeros((len(read), max(len(ids) for ids, _, _ in read) or 1), dtype=np.int64)  # 0 is padding
        segments = np.zeros_like(tokens)
        for row, second, (ids, start, _) in zip(tokens, segments, read, strict=True):
            row[: len(ids)] = ids
            second[start : len(ids)] = 1
        mask = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids, _, _ in read])
        inputs = {"tokens": tokens, "mask": mask} | ({"segments": segments} if self.config["pairs"] else {})
        if self.config["columns"]:
            cells = columns or [{}] * len(texts)
            given = [cells[i] for i in selected]
            self.classified += len(given)
            inputs["columns"] = features(self.config["columns"], given, self.config.get("numbers", ()), self.unseen)
        probabilities, weights, *by_class = self.session.run(None, inputs)
        if not np.isfinite(probabilities).all():
            raise ValueError("the model computes probabilities that are not finite: it is damaged, so export it again")
        outputs = (selected, read, probabilities, weights, *by_class)
        for i, (ids, _, words), chances, row, *of_classes in zip(*outputs, strict=True):
            result = results[i]
            result["label"] = self.label(chances, least)
            if self.config["class_names"]:
                result["probabilities"] = dict(zip(self.names, chances.tolist(), strict=True))
            result["weights"] = list(zip(words, row.tolist(), strict=False))
            for weights_of_class in of_classes:  # if the model has them
                pairs = zip(self.names, weights_of_class.tolist(), strict=True)
                result["class_weights"] = {name: list(zip(words, shares, strict=False)) for name, shares in pairs}
            result["only_unknown"] = self.unknown.issuperset(ids)
        return results

    def parts(self, number: int, text: Any) -> tuple[str, ...]:
        """Return the parts of a text, which a pair has two of; a missing one is blank."""
        given = tuple(text) if self.config["pairs"] and isinstance(text, tuple | list) else (text,)
        parts = tuple(map(blank_if_missing, given))
        is_complete = parts == ("",) or len(parts) == 1 + self.config["pairs"]
        if not is_complete or not all(isinstance(part, str) for part in parts):
            expected = "a tuple of two texts" if self.config["pairs"] else "a text"
            raise TypeError(f"text {number}, counted from 0, is {text!r:.80}; it must be {expected}")
        return parts

    def label(self, probabilities: np.ndarray, least: float) -> str | float | list[str]:
        """Return what the model says of a text: a class, the list of its labels, or a number."""
        if not self.config["class_names"]:
            return float(probabilities[0]) + self.config["task"].get("offset", 0.0)
        if "separator" in self.config["task"]:  # several labels
            chosen = reached(probabilities, self.config["task"]["thresholds"])
            return [name for name, is_label in zip(self.names, chosen, strict=True) if is_label]
        return self.names[int(probabilities.argmax())] if probabilities.max() >= least else UNSURE

    def read(self, parts: tuple[str, ...]) -> tuple[list[int], int, list[str]]:
        """Return the ids of a text or pair, the number of those before its second text, and their spelling."""
        is_pair = len(parts) == 2
        parts = tuple(unicodedata.normalize("NFC", part) for part in (cut(parts) if is_pair else map(cut, parts)))
        encoding = self.tokenizer.encode(parts[0], parts[1] if is_pair else None, add_special_tokens=is_pair)
        special = self.config["special"] if is_pair else (0, 0)
        start, end, second, stop = pair_bounds(encoding, special) if is_pair else (0, 0, 0, len(encoding.ids))
        bounds = np.array([[end - start, second - start]]) if is_pair else None
        kept = spans(np.array([0, stop - start]), bounds, self.config["max_length"], self.config["keep"])
        places, words = kept.positions(0).tolist(), spellings(parts, encoding, special)
        ids = [max(encoding.ids[start + place] + self.config["id_shift"], 1) for place in places]
        before = len(places) if kept.seconds is None else int(kept.seconds[0])
        return ids, before, [words[place] for place in places]


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit()
    try:
        classify = Classifier()
    except ValueError as mistake:
        sys.exit(f"Error: {mistake}")
    is_pair = classify.config["pairs"]
    is_ascii = not sys.stdout.encoding.lower().startswith("utf")
    texts = sys.argv[1:]
    error = texts.pop(0)[10:] if texts and texts[0].startswith("--abstain=") else None
    if texts and re.match(r"--\w+=", texts[0]):
        sys.exit(f"Error: {texts[0]}: no such option, only --abstain=…")
    lines = texts or io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", errors="surrogateescape")
    for number, line in enumerate(lines, start=1):
        try:
            line.encode()
        except UnicodeEncodeError:
            sys.exit(f"Error: text {number} is not UTF-8")
        text: str | list[str] = line.rstrip("\r\n")
        cells: dict = {}
        try:
            if classify.config["columns"] and line.startswith("{"):
                cells = json.loads(line)
                text = blank_if_missing(cells.pop("text", None))
            elif is_pair:
                text = line.rstrip("\r\n").split("\t")
            names = [column["name"] for column in classify.config["columns"]] if number == 1 else []
            if absent := ", ".join(name for name in names if name not in cells):
                print(f"The model also reads {absent}, which are missing and count as empty", file=sys.stderr)
            parts = text if is_pair and isinstance(text, list) else [text]
            if len(parts) != 1 + is_pair or not all(isinstance(part, str) for part in parts):
                expected = "two texts, with a tab between them" if is_pair else "one text"
                sys.exit(f"Error: text {number} must be {expected}")
            print(json.dumps(classify([text], error, [cells])[0], ensure_ascii=is_ascii))
        except ValueError as mistake:
            where = f"text {number}: " if isinstance(mistake, Fault | json.JSONDecodeError) else ""
            sys.exit(f"Error: {where}{mistake}")
    for name, count in classify.unseen.items():
        if count:
            cells_of = f"{count:,} of {classify.classified:,} cells"
            print(f"Column {name!r}: {cells_of} are of categories without training texts", file=sys.stderr)
