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
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"  # stands between the texts of a pair, and in neither of them
LONGEST = 1_000_000  # characters at each end of a text that are read


class Classifier:
    """The classifier in a folder; `model` is the name of the ONNX file."""

    def __init__(self, folder: str | Path = Path(__file__).parent, model: str = "model.onnx") -> None:
        folder = Path(folder)
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.unknown = set(self.config["unknown_ids"])  # ids of tokens that the model does not use
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors also raise exceptions, so they need not be logged
        self.session = onnxruntime.InferenceSession(str(folder / model), options, providers=["CPUExecutionProvider"])

    def least_confidence(self, error: float) -> float:
        """Return the lowest confidence from which the expected error on the validation texts was at most `error`."""
        limits = self.config["task"].get("limits", [])
        reached = [confidence for confidence, texts, wrong, *_ in limits if (wrong + 1) / (texts + 1) <= error < 1]
        if not reached:
            raise ValueError(
                f"abstain={error}: no confidence has so low an error on the validation texts, or none is known"
            )
        return reached[-1]

    def features(self, row: dict) -> list[float]:
        """Return the features of the columns in a row; a value that it lacks is missing."""
        features: list[float] = []
        for column in self.config["columns"]:
            cell = row.get(column["name"])
            text = ("" if cell is None else str(cell)).strip()
            text = text.lower() if text.lower() in ("true", "false") else text
            if (categories := column["categories"]) is not None:
                features += [float(text == category) for category in (*categories, "")]
                continue
            try:
                number = float(text or "nan") if "_" not in text else np.inf
            except ValueError:
                number = np.inf
            if abs(number) > 1e100:
                raise ValueError(f"column {column['name']!r} holds {text!r}, but must hold a number")
            is_missing = np.isnan(number)
            value = 0.0 if is_missing else (number - column["mean"]) / column["scale"]
            features += [float(np.clip(value, -1e6, 1e6)), float(is_missing)]
        return features

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
        names = self.config["class_names"] or ["value"]
        keys = ("label", "probabilities", "weights", "only_unknown")
        results: list[dict] = [{"text": text, **dict.fromkeys(keys)} for text in texts]
        parts = [tuple(text) if self.config["pairs"] else (text,) for text in texts]
        selected = [i for i, own in enumerate(parts) if all(part.strip() for part in own)]
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
            inputs["columns"] = np.array([self.features(cells[i]) for i in selected], dtype=np.float32)
        probabilities, weights, *by_class = self.session.run(None, inputs)
        outputs = (selected, read, probabilities, weights, *by_class)
        for i, (ids, _, words), chances, row, *own in zip(*outputs, strict=True):
            result = results[i]
            result["label"] = names[int(chances.argmax())] if chances.max() >= least else "unsure"
            if len(names) == 1:  # a number
                result["label"] = float(chances[0])
            if "separator" in self.config["task"]:  # several labels
                limits = self.config["task"]["thresholds"] or [0.5] * len(names)
                reached = (name for name, chance, limit in zip(names, chances, limits, strict=True) if chance >= limit)
                result["label"] = list(reached)
            if self.config["class_names"]:
                result["probabilities"] = dict(zip(names, chances.tolist(), strict=True))
            result["weights"] = list(zip(words, row.tolist(), strict=False))
            for weights_of_class in own:  # of each class, if the model has them
                pairs = zip(names, weights_of_class.tolist(), strict=True)
                result["class_weights"] = {name: list(zip(words, each, strict=False)) for name, each in pairs}
            result["only_unknown"] = self.unknown.issuperset(ids)
        return results

    def read(self, parts: tuple[str, ...]) -> tuple[list[int], int, list[str]]:
        """Return the ids of a text or pair, the number of those before its second text, and their spelling."""
        limit, is_pair = self.config["max_length"], len(parts) == 2
        if is_pair:
            parts = tuple(part.replace(MARK, " ") for part in parts)
        parts = tuple(part if len(part) <= 2 * LONGEST else f"{part[:LONGEST]} {part[-LONGEST:]}" for part in parts)
        parts = tuple(unicodedata.normalize("NFC", part) for part in parts)
        encoding = self.tokenizer.encode(parts[0], parts[1] if is_pair else None, add_special_tokens=is_pair)
        before, after = self.config["special"] if is_pair else (0, 0)
        stop = len(encoding.ids) - after
        end = before + encoding.sequence_ids.count(0)
        second = stop - encoding.sequence_ids.count(1)
        room = limit - (second - end) if is_pair else limit
        kept_second = min(stop - second, max(room - (end - before), room // 2)) if is_pair else 0
        kept = min(end - before, room - kept_second)
        ranges = [range(before, end), range(second, stop)]
        for number, count in enumerate((kept, kept_second)):
            own = ranges[number]
            ranges[number] = own[len(own) - count :] if self.config["keep"] == "last" else own[:count]
        words = list(encoding.tokens)  # those of a separator
        for part, span in zip(parts, (slice(before, end), slice(second, stop)), strict=False):
            words[span] = [part[a:b].strip() for a, b in encoding.offsets[span]]
        chosen = [*ranges[0], *range(end, second), *ranges[1]]
        ids = [max(encoding.ids[i] + self.config["id_shift"], 1) for i in chosen]
        return ids, len(ids) - kept_second, [words[i] for i in chosen]


if __name__ == "__main__":
    classify = Classifier()
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
                text = cells.pop("text", None) or ""
            elif is_pair:
                text = line.rstrip("\r\n").split("\t")
            parts = text if is_pair and isinstance(text, list) else [text]
            if len(parts) != 1 + is_pair or not all(isinstance(part, str) for part in parts):
                expected = "two texts, with a tab between them" if is_pair else "one text"
                sys.exit(f"Error: text {number} must be {expected}")
            print(json.dumps(classify([text], error, [cells])[0], ensure_ascii=is_ascii))
        except ValueError as mistake:
            sys.exit(f"Error: {mistake}")
