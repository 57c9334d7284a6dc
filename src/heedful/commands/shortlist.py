"""Find the model to use for some texts: `heedful shortlist data=csv data.path=my.csv`."""

import sys
from collections.abc import Sequence

from heedful.base.errors import UserError
from heedful.base.process import exit_with_message, typed

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
OPTIONS = ("minutes", "candidates", "out")


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
        from heedful.report.terminal import OutputConsole, files_table, render_terminal
        from heedful.selection.sections import sections
        from heedful.selection.shortlist import shortlist
        from heedful.selection.winner import use

        found = shortlist(lines, minutes=minutes, candidates=names, folder=named.get("out"), outside=programs)
        console = OutputConsole()
        console.print(render_terminal(sections(found.answer), repr(found)))
        names = ["page.html", "shortlist.md", "folds.csv", *(["winner", "winner/page.html"] if found.winner else [])]
        console.print(files_table(found.folder, [found.folder / name for name in names]))
        if found.winner:
            console.print(f"Use it:    {use(found.winner).text}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
