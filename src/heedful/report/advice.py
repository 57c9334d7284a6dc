"""What may be wrong with a run, what to do about it, and how to use it."""

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from heedful.base.formatting import SPLIT_NAMES, format_count
from heedful.base.process import typed
from heedful.config.overrides import format_override, key_of
from heedful.report.doubtful import Doubtful
from heedful.report.numbers import format_percent
from heedful.report.section import Command, Warning
from heedful.report.verdict import LINEAR_MODEL
from heedful.report.words import UNUSED_NOTE, clean_text
from heedful.runs.result import RunResult, Score

CUT_SHARE = 0.05  # of the tokens
FEW_TEXTS = 100  # training texts of a class, and test texts
MAX_ERROR = 0.2  # of sure answers; a limit with more is of no use
OF_DATA = re.compile(r"(data(?![./]tokenizer)|task|seed|extras|logger)(?!\w)")  # keys that an experiment leaves alone


def warnings_of(result: RunResult, main_score: str, lower_is_better: bool, doubtful: Doubtful) -> Iterator[Warning]:
    """Yield what a reader should know before he trusts the scores, the most important first."""
    split, noun = result.split, f"{SPLIT_NAMES[result.split]} texts"
    summary = result.data.splits.get(split)
    gain = result.baseline.differences.get(f"{split}/{main_score}", Score())
    score, majority = result.metrics.get(f"{split}/{main_score}", Score()), result.score(f"{split}/majority_acc")
    if gain.low is not None and gain.high is not None and (gain.low > 0 if lower_is_better else gain.high < 0):
        text = f"The {LINEAR_MODEL} is better on these texts."
        yield Warning(text, "Try the recommended model.", "experiment=recommended")
    elif main_score == "acc" and score.low is not None and majority is not None and score.low <= majority:
        name = clean_text(str(result.data.majority_class or "the most frequent class"), 40)
        yield Warning(f"It is not shown to be better than always answering “{name}”.", "Check the labels.")
    if score.n is not None and score.n < FEW_TEXTS:
        yield Warning(f"Only {format_count(score.n, noun[:-1])}: all intervals are wide.", "Test it on more texts.")
    if result.has_unused_network:
        patience = "callbacks.early_stopping.patience=20"
        yield Warning(f"{UNUSED_NOTE}, so attention explains nothing.", "Give it more epochs to learn.", patience)
    if summary is not None and summary.in_train:
        share = format_percent(summary.in_train / max(summary.checked or summary.texts or 1, 1))
        text = f"{summary.in_train:,} {noun} ({share}) are also training texts, so the scores may be too high."
        yield Warning(text, "Train without the texts that are also tested.", "data.duplicates=drop")
    if summary is not None and (summary.cut_share or 0) > CUT_SHARE:
        longest = summary.lengths.get("95 %", 2 * (result.data.max_length or 0))
        text = (
            f"{summary.cut_texts:,} {noun} are cut: {format_percent(summary.cut_share)} of their tokens are not read."
        )
        yield Warning(text, "Read more of the long texts.", f"data.max_length={longest}")
    if doubtful.rows:
        number = format_count(len(doubtful.rows), "label")
        text = f"{number} of the {noun} look wrong: the model is sure of another class."
        yield Warning(text, "Check the doubtful labels: see Texts.")
    if result.data.conflicts:
        text = f"{format_count(result.data.conflicts, 'text')} with different labels in several rows."
        yield Warning(text, "Correct the rows that the log names: no model can learn both labels.")
    counts = result.data.splits["train"].class_counts if "train" in result.data.splits else {}
    few = [f"{clean_text(name, 40)} ({count:,})" for name, count in counts.items() if count < FEW_TEXTS]
    if few:
        shown = ", ".join(few[:3]) + (f" and {len(few) - 3} more" if len(few) > 3 else "")
        yield Warning(f"Few training texts: {shown}.", "Label more texts of these classes.")
    if result.open_end:
        yield Warning(
            f"{result.open_end}.", "Train longer.", "trainer.max_epochs=" + str(2 * len(result.seconds.per_epoch))
        )
    if result.seed is not None and result.has_network:
        text = f"One training, with seed {result.seed}: the intervals are about other texts, not about other seeds."
        yield Warning(text, "Repeat the training with five seeds.", "-m seed=1,2,3,4,5")


def train_command(result: RunResult, change: str) -> str:
    """Return the command of the training with a change, or "" after an evaluation and without files.

    An experiment takes the place of all options but those of OF_DATA.
    """
    if not change or not result.overrides or not result.data.files or not result.is_of_training:
        return ""
    changed = {"ckpt_path", *map(key_of, change.split())}
    kept = [line for line in result.overrides if key_of(line) not in changed]
    if "experiment" in changed:
        kept = [line for line in kept if OF_DATA.match(key_of(line))]
    return f"{typed('train')} {shlex.join(kept)} {change}"


def use_commands(run: Path, options: Mapping[str, Any], lowest_error: float | None = None) -> list[Command]:
    """Return how to predict a text, a file, and in Python; nothing if the run has no checkpoint.

    Args:
        options: of the data.
        lowest_error: that can be promised for predictions that are sure.
    """
    if not (run / "checkpoints" / "best.ckpt").exists():
        return []
    model, text = shlex.quote(format_override("ckpt_path", str(run))), options.get("text", "text")
    is_pair = not isinstance(text, str)
    second = " second='…'" if is_pair else ""
    column = "" if is_pair else f" {shlex.quote(format_override('text_column', text))}"
    file = f"file=new.csv{column} out=answers.csv"
    is_low = lowest_error is not None and lowest_error <= MAX_ERROR
    unsure = f" abstain={math.ceil(100 * (lowest_error or 0.0)) / 100:g}" if is_low else ""
    argument = '[("…", "…")]' if is_pair else '["…"]'
    python = f"from heedful import load\nload({json.dumps(str(run), ensure_ascii=False)}).predict({argument})[0].label"
    title = "A file; unsure texts are marked" if unsure else "A file"
    return [
        Command("One text", f"{typed('predict')} {model} text='…'{second}"),
        Command(title, f"{typed('predict')} {model} {file}{unsure}"),
        Command("In Python", python),
    ]
