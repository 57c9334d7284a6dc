"""The page of a run: what it is worth, where it is wrong, and what to do next; everything else is folded."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from heedful.base.formatting import SPLIT_NAMES, capitalize, format_count
from heedful.report.advice import FEW_TEXTS, train_command, use_commands, warnings_of
from heedful.report.data_section import data_section
from heedful.report.doubtful import Doubtful, find_doubtful
from heedful.report.numbers import format_compact, format_known, format_percent
from heedful.report.run_texts import texts_section
from heedful.report.score_sections import baseline_section, classes_table, scores_section
from heedful.report.section import (
    Columns,
    Command,
    Content,
    Coverage,
    Dot,
    Dots,
    Group,
    Limit,
    Lines,
    Matrix,
    Section,
    Table,
    Warning,
)
from heedful.report.slices import slices_section
from heedful.report.verdict import LINEAR_MODEL, gain_clause
from heedful.report.words import clean_text, example_content, example_notes
from heedful.runs.examples import read_texts
from heedful.runs.removal import read_removals
from heedful.runs.result import RunResult, Score
from heedful.runs.run_files import (
    Predictions,
    PredictionTable,
    read_existing,
    read_features,
    read_history,
    read_table,
)
from heedful.tasks.score_intervals import join_groups
from heedful.terms.confidence import measure_limits
from heedful.terms.evaluation import proportion
from heedful.terms.intervals import mean_of_terms

EDGES = (0.0, 0.5, 0.7, 0.9, 0.97, 1.0)  # of the confidence
PARTS = 5  # of the predicted numbers
MAX_STROKES = 300  # texts in the row of a label
MAX_EPOCHS = 60  # in the table of the training
ANSWERED = 0.9  # share of the texts in the sentence about unsure ones


class Page(NamedTuple):
    """A page: its title, the most important result in some sentences, a line above the title, and its sections."""

    title: str
    verdict: str
    kicker: str
    sections: list[Section]


class RunPage:
    """Builds the page of a run from its record, its predictions and its files."""

    def __init__(self, run: Path, result: RunResult, predictions: Predictions, model: Path | None = None) -> None:
        self.run, self.result, self.predictions, self.model = run, result, predictions, model
        self.task, self.split = predictions.task, predictions.split
        self.noun = f"{SPLIT_NAMES[self.split]} texts"
        config = read_existing(run / "config.yaml", lambda path: yaml.safe_load(path.read_bytes())) or {}
        self.options = config.get("data") or {}
        table = read_table(run, predictions)
        self.table = table or PredictionTable({}, [], [])
        self.removals = read_removals(run) if self.split == "test" else []
        self.doubtful = find_doubtful(predictions) if any(self.table.texts) else Doubtful()
        scores = self.task.scores
        # a share is what people know best, and else an error in the unit of the numbers
        wanted = (name for name in ("acc", "mae", *scores) if name in scores)
        known = (name for name in wanted if f"{self.split}/{name}" in result.metrics)
        self.score = next(known, self.task.main_score)
        self.is_share = scores[self.score].is_share
        lower = scores[self.score].lower_is_better
        self.warnings = list(warnings_of(result, self.score, lower, self.doubtful))
        self.limits = measure_limits(predictions) if "limits" in self.task.state_names else ()

    def build(self) -> Page:
        lowest = self.result.lowest_error.error if self.limits and self.model is None else None
        sections = [
            self._head(),
            self._mistakes(),
            self._labels(),
            texts_section(self.result, self.predictions, self.table, self.removals, self.doubtful),
            slices_section(self.predictions, self.score, self.table.origin),
            self._confidence(),
            self._next(),
            Section("Use it", use_commands(self.model or self.run, self.options, lowest)),
            *(replace(section, is_folded=True) for section in self._numbers()),
        ]
        kept = [section for section in sections if section is not None and section.content]
        source = Path(str(self.options.get("path") or self.result.choices.get("data") or "")).name
        classes = format_count(len(self.task.classes), "class") if self.task.classes else ""
        parts = (source, classes, self.result.architecture, (self.result.started or "")[:10])
        return Page(self._title(), self._verdict(), " · ".join(part for part in parts if part), kept)

    # The head

    def _target(self) -> str:
        label = self.options.get("label")
        return clean_text(label, 40) if isinstance(label, str) else "label"

    def _count(self, share: float) -> str:
        """Return a share of the texts in counts: of 100 texts, or of all texts if they are fewer."""
        n = len(self.predictions.labels)
        return f"{round(share * min(n, 100))} of {min(n, 100)}"

    def _title(self) -> str:
        value = self.result.score(f"{self.split}/{self.score}")
        if value is None:
            return self.result.architecture or "A run"
        score = self.task.scores[self.score]
        if not self.is_share:
            quality = f"have the {score.label} {value:.3g}"
            if self.score == "mae":
                quality = f"are off by {format_compact(value)} on average"
            return f"Predictions of {self._target()} {quality}"
        right = "the right" if self.predictions.confusion_matrix is not None else "exactly the right"
        are_right = f"get {right} {self._target()}" if self.score == "acc" else f"are {score.share}"
        title = f"{self._count(value)} {self.noun} {are_right}"
        linear = self.result.baseline.metrics.get(f"{self.split}/{self.score}")
        gain = self.result.baseline.differences.get(f"{self.split}/{self.score}")
        if linear and linear.value is not None and gain and gain.high is not None and gain.high < 0:
            title += f"; the {LINEAR_MODEL} gets {self._count(linear.value).partition(' ')[0]}"
        return title

    def _verdict(self) -> str:
        clause = gain_clause(self.result, self.score)
        sentences = [capitalize(clause)] if clause else []
        if self.limits and len(self.predictions.labels) >= FEW_TEXTS:
            limit = self._coverage().limits[self._coverage().at(ANSWERED)]
            left = 1 - limit.texts / len(self.predictions.labels)
            share = f"If a person reads the least certain {100 * left:.0f} %"
            if left > 0:
                sentences.append(f"{share}, {format_percent(limit.wrong / limit.texts)} of the other answers are wrong")
        if not self.task.has_classes and (value := self.result.score(f"{self.split}/r2")) is not None:
            sentences.append(f"It explains {format_percent(max(0.0, value))} of the variance")
        return "".join(f"{sentence}. " for sentence in sentences).strip()

    def _coverage(self) -> Coverage:
        limits = [Limit(limit.confidence, limit.texts, limit.wrong, limit.low, limit.high) for limit in self.limits]
        chosen_on = format_count(n, "validation text") if (n := self.result.data.val) else "the validation texts"
        note = f"Measured on the {self.noun}. In predictions, abstain=… does this, with a limit that {chosen_on} chose."
        lowest = self.result.lowest_error
        if lowest.error is not None and lowest.answered is not None:
            note += f" {format_percent(lowest.error)} errors are the fewest that it can promise, for "
            note += f"{format_percent(lowest.answered)} of them."
        return Coverage(limits, note)

    def _head(self) -> Section:
        content: list[Content] = [self._scores()]
        if self.limits:
            content.append(self._coverage())
        actions = [warning.remedy for warning in self.warnings if warning.remedy][:4]
        parts = [
            ("What it confuses", self._confusions()),
            ("Before you trust it", [warning.text for warning in self.warnings[:3]]),
            ("What to do next", actions),
        ]
        groups = [Group(title, [Lines(lines, is_open=True)]) for title, lines in parts if lines]
        return Section("", [Columns(content), *([Columns(groups)] if groups else [])])

    def _scores(self) -> Dots:
        metrics, split = self.result.metrics, self.split
        linear = self.result.baseline.metrics.get(f"{split}/{self.score}")
        score = metrics.get(f"{split}/{self.score}", Score())
        rows = [Dot("this model", score.value, score.low, score.high, tone="best")]
        if linear is not None and linear.value is not None:
            rows.append(Dot(LINEAR_MODEL, linear.value, linear.low, linear.high, tone="grey"))
        if (majority := metrics.get(f"{split}/majority_acc")) and self.score == "acc":
            name = clean_text(str(self.result.data.majority_class or "the most frequent class"), 40)
            rows.append(Dot(f"always “{name}”", majority.value, majority.low, majority.high, tone="grey"))
        high = max((end for dot in rows for end in (dot.value, dot.high) if end is not None), default=1.0)
        groups = self.predictions.groups
        title = f"{self.task.scores[self.score].label.capitalize()} on {len(self.predictions.labels):,} {self.noun}"
        if groups is not None:
            title += f" in {len(np.unique(groups)):,} groups"
        title += ", with 95 % intervals" + ("; lower is better" if self.task.scores[self.score].lower_is_better else "")
        return Dots(rows, title, (0.0, 1.0 if self.is_share else 1.1 * high), self.is_share)

    def _confusions(self) -> list[str]:
        counts, names = self.predictions.confusion_matrix, [clean_text(name, 40) for name in self.task.classes]
        if counts is None:
            return []
        wrong = counts - np.diag(counts.diagonal())
        pairs = [np.unravel_index(i, wrong.shape) for i in np.argsort(-wrong, axis=None, kind="stable")[:3]]
        lines = [f"{wrong[a, b]:,} × {names[a]} taken for {names[b]}" for a, b in pairs if wrong[a, b]]
        found = [(counts[c, c] / counts[c].sum(), c) for c in range(len(names)) if counts[c].sum()]
        if lines:
            _, c = min(found)
            lines.append(f"Hardest to find: {names[c]}, {counts[c, c]:,} of {counts[c].sum():,}")
        return lines

    # Where it is wrong

    def _mistakes(self) -> Section | None:
        counts = self.predictions.confusion_matrix
        if counts is None or not counts.sum():
            return None
        return Section("Where it is wrong", [Matrix([clean_text(name, 40) for name in self.task.classes], counts)])

    def _labels(self) -> Section | None:
        """Return a row for each of many labels: its texts by their probability, and its threshold."""
        if not (thresholds := self.result.thresholds):
            return None
        labels, probabilities = self.predictions.labels.astype(bool), self.predictions.probabilities
        validation = self.result.data.splits["val"].class_counts if "val" in self.result.data.splits else {}
        rows = []
        for c, (name, limit) in enumerate(thresholds.items()):
            missed = int((labels[:, c] & (probabilities[:, c] < limit)).sum())
            alarms = int((~labels[:, c] & (probabilities[:, c] >= limit)).sum())
            score, step = self.result.classes[self.split][name], -(-len(labels) // MAX_STROKES)
            f1 = f"F1 {format_known(score.f1, '{:.2f}')}"
            if score.f1_low is not None:
                f1 += f" ({score.f1_low:.2f} to {score.f1_high:.2f})"
            counts = f"{missed} of {labels[:, c].sum()} missed, {alarms} false"
            text = f"{counts} · {f1}" + (f" · chosen on {validation[name]:,}" if name in validation else "")
            pairs = zip(probabilities[::step, c].tolist(), labels[::step, c].tolist(), strict=True)
            strokes = [pair for pair in sorted(pairs) if pair[1] or pair[0] > 0.02]
            dot = Dot(f"{clean_text(name, 40)}, from {limit:.2f}", None, mark=limit, text=text, strokes=strokes)
            rows.append((missed + alarms, dot))
        rows.sort(key=lambda row: -row[0])
        note = (
            "A stroke is a text at the probability of the label: above and blue if it has the label, below and orange "
            "if not. Blue left of the dashed threshold is missed, orange right of it is a false alarm. The thresholds "
            "were chosen on the validation texts, and fit these better than new texts"
            + ("; the last number of a row is that of the validation texts with the label." if validation else ".")
        )
        return Section("Labels and their thresholds", [Dots([dot for _, dot in rows], "Most mistakes first")], note)

    def _confidence(self) -> Section | None:
        """Return how often predictions of a confidence are right, or how large numbers are that are predicted alike."""
        groups = self.predictions.groups
        if not self.task.has_classes:
            return self._predicted_numbers()
        if not self.limits:
            return None
        confidence, is_correct = self.task.confidence(self.predictions.probabilities), self.predictions.is_correct
        rows = []
        for low, high in pairwise(EDGES):
            inside = (confidence >= low) & ((confidence < high) | (high == 1))
            if inside.any():
                of = proportion(is_correct[inside], None if groups is None else groups[inside])
                name = f"{100 * low:.0f} to {100 * high:.0f} %" if low else f"below {100 * high:.0f} %"
                text = f"{format_percent(of.value)} right, of {inside.sum():,}"
                rows.append(Dot(name, of.value, of.low, of.high, float(confidence[inside].mean()), text))
        gap = mean_of_terms(join_groups(confidence - is_correct, groups))
        is_wrong = gap.low is not None and gap.high is not None and gap.low * gap.high > 0
        tone = "not shown to be too high or too low"
        if is_wrong and gap.value > 0:
            tone = "too high: it is right less often than it says"
        elif is_wrong:
            tone = "too low: it is right more often than it says"
        note = f"Its confidence is {tone} ({format_percent(float(confidence.mean()))} on average, "
        note += f"{format_percent(float(is_correct.mean()))} right)."
        if is_wrong and self.task.temperature == 1 and self.task.calibrates:
            note += " calibrate=true corrects it."
        title = "When it says this confidence (dashed: its mean), so many are right"
        return Section("Confidence", [Dots(rows, title, heads=("confidence", "its mean"))], note)

    def _predicted_numbers(self) -> Section | None:
        predicted, true = self.predictions.predicted, self.predictions.labels.astype(np.float64)
        rows = []
        for part in np.array_split(np.argsort(predicted, kind="stable"), min(PARTS, len(predicted))):
            of, low, high = mean_of_terms(true[part]), predicted[part[0]], predicted[part[-1]]
            name = f"{format_known(float(low))} to {format_known(float(high))}"
            rows.append(Dot(name, of.value, of.low, of.high, float(predicted[part].mean())))
        ends = [end for dot in rows for end in (dot.value, dot.low, dot.high, dot.mark) if end is not None]
        title = "When it predicts these numbers (dashed: their mean), the true ones have this mean"
        dots = Dots(rows, title, (min(ends), max(ends)), False, ("predicted", "their mean"))
        return Section("Predicted numbers", [dots])

    # What to do

    def _next(self) -> Section | None:
        content: list[Content] = []
        for warning in self.warnings:
            command = "" if self.model else train_command(self.result, warning.code)
            content.append(Warning(warning.text) if command else warning)
            content += [Command(warning.remedy, command)] if command else []
        if self.doubtful.reason:
            content.append(Lines([self.doubtful.reason]))
        return Section("Before you trust it, and what to do next", content)

    # Everything else

    def _numbers(self) -> Iterator[Section]:
        metrics = dict(sorted(self.result.metrics.items(), key=lambda item: not item[0].startswith("test/")))
        yield scores_section(metrics, "Scores with intervals", self.predictions)
        yield baseline_section(self.result, read_features(self.run) or {})
        if classes := self.result.classes.get(self.split):
            yield Section("Precision, recall and F1 of each class", [classes_table(classes)])
        if data := data_section(self.result.data):
            yield replace(data, title="Texts of each split")
        if history := read_history(self.run):
            epochs = sorted({epoch for by_epoch in history.values() for epoch in by_epoch})[:MAX_EPOCHS]
            rows = [[str(e + 1), *(format_known(by_epoch.get(e)) for by_epoch in history.values())] for e in epochs]
            note = f"The {SPLIT_NAMES[self.split]} uses the best checkpoint: {self.result.best.describe()}."
            yield Section("Training, by epoch", [Table(["epoch", *history], rows)], note)
        if examples := [example for example in read_texts(self.run) if not example.kind]:
            title = "Some texts with their attention" if self.result.network_is_used else "Some texts"
            yield Section(title, list(map(example_content, examples)), example_notes(examples))
