"""Classify texts without the training framework: python predict.py "A film to remember".

Without arguments, the script reads standard input, one text per line. It needs numpy, onnxruntime and tokenizers.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

LONGEST = 1_000_000  # characters at each end of a text that are read


class Classifier:
    """The classifier in a folder; `model` is the name of the ONNX file."""

    def __init__(self, folder: str | Path = Path(__file__).parent, model: str = "model.onnx") -> None:
        folder = Path(folder)
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.session = onnxruntime.InferenceSession(str(folder / model), providers=["CPUExecutionProvider"])

    def __call__(self, texts: list[str]) -> list[dict]:
        """Return for each text the label, the probability of each class, and the attention weight of each token."""
        limit, names = self.config["max_length"], self.config["class_names"]
        cut = slice(-limit, None) if self.config["keep"] == "last" else slice(limit)
        read = [text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} {text[-LONGEST:]}" for text in texts]
        encodings = self.tokenizer.encode_batch(read, add_special_tokens=False)
        rows = [[max(i + self.config["id_shift"], 1) for i in encoding.ids[cut]] for encoding in encodings]
        tokens = np.zeros((len(rows), max(map(len, rows), default=0) or 1), dtype=np.int64)  # 0 is padding
        for row, ids in zip(tokens, rows, strict=True):
            row[: len(ids)] = ids
        mask = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids in rows])
        probabilities, weights = self.session.run(None, {"tokens": tokens, "mask": mask})
        results = []
        for text, part, encoding, chances, row in zip(texts, read, encodings, probabilities, weights, strict=True):
            words = [part[start:stop].strip() for start, stop in encoding.offsets[cut]]
            results.append(
                {
                    "text": text,
                    "label": names[int(chances.argmax())],
                    "probabilities": dict(zip(names, chances.tolist(), strict=True)),
                    "weights": list(zip(words, row.tolist(), strict=False)),
                }
            )
        return results


if __name__ == "__main__":
    classify = Classifier()
    for line in sys.argv[1:] or (line.strip() for line in sys.stdin):
        if line:
            print(json.dumps(classify([line])[0], ensure_ascii=False))
