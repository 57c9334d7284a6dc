"""Find the model to use for some texts: `heedful shortlist data=csv data.path=my.csv`."""

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heedful.base.errors import UserError
from heedful.base.process import exit_with_message, typed

if TYPE_CHECKING:
    from heedful.commands.trained_run import TrainedRun
    from heedful.records.outside import Outside
    from heedful.selection.answer import Answer
    from heedful.selection.race import Entry, Race

HELP = """\
usage: {name} data=csv data.path=my.csv [data.text=… data.label=…] [minutes=10] [candidates=[…]] [out=folder]
       [outside.<name>=predictions.csv]

Trains candidates on folds of the texts, and says which one to use, how sure that is, and what it costs. The winner
is trained again on all texts, saved and exported. The same command with the same out=… goes on after an interruption.

minutes     trainings start only if they end within this time (10); the winner is trained again on all texts after it
candidates  some of {candidates}, or experiments in conf/experiment: [linear,mine]
out         folder of the report and the winner (outputs/shortlist/<time>)
outside.svc=svc.csv  predictions of another program on the folds of folds.csv, which an earlier run wrote into out

All other options are those of `train`, for all candidates: task=multilabel, data.columns=[…], seed=1."""
TIMED_TEXTS = 100
OPTIONS = ("minutes", "candidates", "out")


@dataclass(frozen=True, repr=False)
class Shortlist:
    """The answer of a shortlist.

    Args:
        folder: contains page.html, shortlist.md, the winner's run, `winner`, and its export, `export`.
        answer: the scores, costs and the choice.
        winner: the named candidate, trained on all texts; None if none is better than the most frequent class.
    """

    folder: Path
    answer: "Answer"
    winner: "TrainedRun | None"

    def __repr__(self) -> str:
        return ". ".join(self.answer.sentences()) + "."


def shortlist(
    *overrides: str | Sequence[str],
    data: Any = None,
    minutes: float = 10,
    candidates: Sequence[str] | Mapping[str, Sequence[str]] = (),
    folder: str | Path | None = None,
    outside: "Mapping[str, Outside]" = MappingProxyType({}),
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
    from heedful.base.files import write_text
    from heedful.commands.trained_run import run_training
    from heedful.config.overrides import as_lines
    from heedful.report.html import render_html
    from heedful.report.markdown import render_markdown
    from heedful.selection.answer import Answer
    from heedful.selection.candidates import select_candidates
    from heedful.selection.race import FOLD_TEXTS, Race
    from heedful.selection.sections import chart, sections

    if not minutes > 0:
        raise UserError(f"minutes={minutes}: must be greater than 0")
    names, lacking = (candidates, {}) if isinstance(candidates, Mapping) else select_candidates(candidates)
    if not names:
        raise UserError(
            f"candidates: {', '.join(lacking)} needs a package: run pip install {' '.join(lacking.values())}"
        )
    chosen = {name: (*lines, *as_lines(overrides)) for name, lines in names.items()}

    def train(lines: Sequence[str], without: Sequence[str]) -> "TrainedRun":
        return run_training(lines, data, "shortlist(…)", False, without)

    out = Path(folder or Path("outputs", "shortlist", datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")))
    say = (lambda line: print(line, file=sys.stderr, flush=True)) if verbose else (lambda line: None)
    size, seed, texts = examine(list(chosen.values()), data)
    race = Race(out, chosen, train, texts, minutes, say, seed if size > FOLD_TEXTS else None, outside)
    try:
        race.run()
        race.write_folds()
        answer, winner = Answer.of(race.entries, race.spent(), size, lacking), None
        if not answer.is_useless() and answer.chosen.fits:
            answer = replace(answer, curve=race.learn(answer.chosen))
            winner = race.refit(answer.chosen)
            say(export(winner, out / "export"))
        commands = repeat(answer, race, as_lines(overrides), data, candidates)
        if winner:
            write_winner_page(race, answer.chosen, commands[1])
    except KeyboardInterrupt:
        say(f"Interrupted. The same with {'out' if data is None else 'folder'}={out} goes on")
        raise
    parts = sections(answer, commands)
    recommendation, *limits = (f"{sentence}." for sentence in answer.sentences())
    title, kicker = recommendation.removesuffix("."), f"Shortlist · {size:,} texts"
    write_text(out / "page.html", render_html(title, " ".join(limits), {}, [chart(answer), *parts], kicker))
    write_text(out / "shortlist.md", render_markdown("Shortlist", " ".join((recommendation, *limits)), parts))
    return Shortlist(out, answer, winner)


def examine(candidates: Sequence[Sequence[str]], data: Any) -> tuple[int, int, list[Any]]:
    """Compose the configurations of all candidates; return the number of texts, the seed, and some texts of a fold."""
    from heedful.commands.trained_run import data_lines
    from heedful.config.compose import compose
    from heedful.data.sets import as_sets
    from heedful.selection.race import FOLDS
    from heedful.training.build import datamodule

    folds = [f"data.folds={FOLDS}", "data.fold=0"]
    first, *_ = (compose([*data_lines(lines, data), *lines, *folds]) for lines in candidates)
    is_file = data is None or isinstance(data, str | PathLike)
    source = datamodule(first, sets=None if is_file else as_sets(data, first.data.text, first.data.label))
    texts = source.texts("test", range(min(TIMED_TEXTS, source.sizes["test"])))
    return sum(source.sizes.values()), first.seed or 0, texts


def export(winner: "TrainedRun", out: Path) -> str:
    """Write the winner for use without Heedful, if the packages for it are installed; return what was done."""
    from heedful.base.optional_packages import MissingExtra
    from heedful.commands.export import export_member

    shutil.rmtree(out, ignore_errors=True)
    try:
        export_member(winner.model.members[0], str(out))
    except (MissingExtra, UserError) as error:
        return f"The winner was not exported: {error}"
    return f"The winner was exported to {out}"


def write_winner_page(race: "Race", entry: "Entry", command: str) -> None:
    """Write the page of the winner, from texts of the race, because no text is left to test it."""
    from heedful.report.run_report import write_page
    from heedful.report.section import Command, Section
    from heedful.runs.result import RunResult
    from heedful.runs.run_files import read_predictions

    tested, winner = race.folder_of(entry, 0), race.folder / "winner"
    result, predictions = RunResult.load(tested), read_predictions(tested)
    assert predictions is not None, f"{tested} had predictions after its training"
    size = len(predictions.labels)
    where = "in the test split" if entry.screened else "in the first fold"
    note = (
        f"The winner is trained on all texts, so none is left to test it: this page is about the same model trained "
        f"without the {size:,} texts {where}; the shortlist has the scores of all trainings."
    )
    use = f"{typed('predict')} {shlex.quote(f'ckpt_path={winner}')} text='…'"
    commands = [Command("Use the winner", use), Command("Train the winner again", command)]
    write_page(winner / "page.html", tested, result, predictions, note, [Section("The winner", commands)])


def repeat(
    answer: "Answer",
    race: "Race",
    lines: Sequence[str],
    data: Any,
    candidates: Sequence[str] | Mapping[str, Sequence[str]],
) -> list[str]:
    """Return what is typed to run the shortlist, and the training of the winner, again."""
    has_winner = not answer.is_useless() and answer.chosen.fits
    calls = [("shortlist", lines), *([("train", race.lines_of_refit(answer.chosen))] if has_winner else [])]
    if data is not None:
        return [f"{name}({', '.join([*map(repr, given), 'data=…'])})" for name, given in calls]
    options = [f"minutes={race.seconds / 60:g}", *([f"candidates=[{','.join(candidates)}]"] if candidates else [])]
    options += [f"outside.{name}={given.file}" for name, given in race.outside.items()]
    calls[0] = ("shortlist", [*lines, *options])
    return [f"{typed(name)} {shlex.join(given)}" for name, given in calls]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the race that the command line describes, and print the answer and the leaderboard."""
    with exit_with_message("standard output"):
        arguments = list(sys.argv[1:] if argv is None else argv)
        if not arguments or {"--help", "-h"} & set(arguments):
            from heedful.selection.candidates import candidate_names

            return print(HELP.format(name=typed("shortlist"), candidates=", ".join(candidate_names())))
        named = dict(line.partition("=")[::2] for line in arguments if line.partition("=")[0] in OPTIONS)
        outside = [line for line in arguments if line.startswith("outside.")]
        lines = [line for line in arguments if line.partition("=")[0] not in OPTIONS and line not in outside]
        if flags := [line for line in lines if line.startswith("-") and not line.startswith("~")]:
            raise UserError(f"{flags[0]}: no such flag; options are written key=value")
        try:
            minutes = float(named.get("minutes", "10"))
        except ValueError:
            raise UserError(f"minutes={named['minutes']}: must be a number of minutes, such as 10") from None
        names = [name.strip() for name in named.get("candidates", "").strip("[]").split(",") if name.strip()]
        from heedful.base.lightning import import_lightning
        from heedful.kernels.malloc import reuse_freed_memory
        from heedful.records.outside import parse_outside

        programs = parse_outside(outside)
        import_lightning()
        reuse_freed_memory()
        found = shortlist(lines, minutes=minutes, candidates=names, folder=named.get("out"), outside=programs)

        from heedful.report.terminal import OutputConsole, files_table, render_terminal
        from heedful.selection.sections import sections

        console = OutputConsole()
        console.print(render_terminal(sections(found.answer), repr(found)))
        names = ["page.html", "shortlist.md", "folds.csv", *(["winner", "winner/page.html"] if found.winner else [])]
        console.print(files_table(found.folder, [found.folder / name for name in names]))
        if found.winner:
            console.print(f"Use it:    {typed('predict')} ckpt_path={found.winner.folder}", highlight=False)


if __name__ == "__main__":
    main()
