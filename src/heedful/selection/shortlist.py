"""Find the model to use for some texts in Python: `from heedful import shortlist`."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heedful.base.errors import UserError
from heedful.base.files import write_text
from heedful.base.process import typed
from heedful.config.overrides import as_lines, key_of
from heedful.launch.trained_run import TrainedRun
from heedful.records.outside import Outside
from heedful.report.html import render_html
from heedful.report.markdown import render_markdown
from heedful.report.section import Command, Content, Link
from heedful.selection import winner
from heedful.selection.answer import Answer
from heedful.selection.candidates import select_candidates
from heedful.selection.race import Race
from heedful.selection.sections import chart, sections


@dataclass(frozen=True, repr=False)
class Shortlist:
    """The answer of a shortlist.

    Args:
        folder: contains page.html, shortlist.md, the winner's run, `winner`, and its export, `export`.
        answer: the scores, costs and the choice.
        winner: the named candidate, trained on all texts; None if none is better than a constant prediction.
    """

    folder: Path
    answer: Answer
    winner: TrainedRun | None

    def __repr__(self) -> str:
        return ". ".join(self.answer.sentences()) + "."


def shortlist(
    *overrides: str | Sequence[str],
    data: Any = None,
    minutes: float = 10,
    candidates: Sequence[str] | Mapping[str, Sequence[str]] = (),
    folder: str | Path | None = None,
    outside: Mapping[str, Outside] = MappingProxyType({}),
    verbose: bool = True,
) -> Shortlist:
    """Find the model to use for some texts, as the command `shortlist` does.

    Args:
        overrides: options of all trainings, as for `train`.
        data: as for `train`, without a test split.
        minutes: time within which trainings end; the first candidate, and the winner on all texts, are always trained.
        candidates: names, or names with the overrides of each; () means all.
        folder: of the report; what an interrupted race has written there is used.
        outside: predictions of other programs by name, as for `compare`: {"svc": Outside(Path("svc.csv"))}.
        verbose: whether to print each training.

    Raises:
        UserError: if an option or the data are wrong.
    """
    if not minutes > 0:
        raise UserError(f"minutes={minutes}: must be greater than 0")
    names, lacking = (candidates, {}) if isinstance(candidates, Mapping) else select_candidates(candidates)
    if not names:
        raise UserError(
            f"candidates: {', '.join(lacking)} needs a package: run pip install {' '.join(lacking.values())}"
        )
    lines = as_lines(overrides)
    arguments = {"minutes": "minutes", "candidates": "candidates", "out": "folder"}
    if wrong := [line for line in lines if key_of(line) in arguments]:
        name = arguments[key_of(wrong[0])]
        raise UserError(f"{wrong[0]}: write it as an argument in Python: shortlist(…, {name}=…)")
    chosen = {name: (*options, *lines) for name, options in names.items()}
    out = Path(folder or Path("outputs", "shortlist", datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")))
    say = (lambda line: print(line, file=sys.stderr, flush=True)) if verbose else (lambda line: None)
    race, run = Race(out, chosen, data, minutes, say, outside), None
    try:
        race.run()
        race.write_folds()
        answer = Answer.of(race.entries, race.spent(), race.size, lacking)
        again: list[Content] = [Command("The shortlist again", _typed("shortlist", lines, race, candidates))]
        if not answer.is_useless() and answer.chosen.fits:
            answer = replace(answer, curve=race.learn(answer.chosen))
            run, of_winner = winner.refit(race, answer.chosen)
            say(winner.export(run, out / "export"))
            winner.show(race, answer.chosen)
            page = Link("The page of the winner", "winner/page.html")
            again = [winner.use(run), page, Command("The winner again", _typed("train", of_winner, race)), *again]
    except KeyboardInterrupt:
        say(f"Interrupted. The same with {'out' if data is None else 'folder'}={out} goes on")
        raise
    parts = sections(answer, again)
    recommendation, *limits = (f"{sentence}." for sentence in answer.sentences())
    title, kicker = recommendation.removesuffix("."), f"Shortlist · {race.size:,} texts"
    write_text(out / "page.html", render_html(title, " ".join(limits), {}, [chart(answer), *parts], kicker))
    write_text(out / "shortlist.md", render_markdown("Shortlist", " ".join((recommendation, *limits)), parts))
    return Shortlist(out, answer, run)


def _typed(command: str, lines: Sequence[str], race: Race, candidates: Sequence[str] | Mapping[str, Any] = ()) -> str:
    """Return what is typed to run the shortlist, or the training of the winner, again."""
    options = [f"minutes={race.seconds / 60:g}"] if command == "shortlist" else []
    if race.data is not None:
        options += [f"candidates={candidates!r}"] if candidates else []
        options += ["outside=…"] if options and race.outside else []
        return f"{command}({', '.join([*map(repr, lines), *options, 'data=…'])})"
    options += [f"candidates=[{','.join(candidates)}]"] if candidates else []
    for name, given in race.outside.items() if options else ():
        options += [f"outside.{name}={given.file}", *([f"outside.{name}.trained=never"] if given.trained else [])]
    return f"{typed(command)} {shlex.join([*lines, *options])}"
