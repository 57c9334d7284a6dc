"""A W&B workspace that compares the runs of a project: `python -m src.dashboard --save ENTITY/PROJECT`."""

import argparse
from collections.abc import Sequence

from src.errors import UserError
from src.process import exit_with_message

DESCRIPTION = """\
Builds a W&B workspace: a ranking with error bars, the attention mechanisms of each encoder, accuracy against cost,
parallel coordinates of the components, curves, gradient norms and attention weights. Prints it as JSON, or saves it
with a W&B account. See docs/wandb.md."""
BY = (
    "option by which runs are grouped and averaged in bars and lines, such as optimizer.lr or choices.pooling; "
    "default: encoder and attention"
)


def main(argv: Sequence[str] | None = None) -> None:
    """Build the workspace, then print it, or save it as a new view of its project and print its URL."""
    with exit_with_message("standard output"):
        parser = argparse.ArgumentParser("python -m src.dashboard", description=DESCRIPTION)
        parser.add_argument("--by", default="variant", metavar="OPTION", help=BY)
        parser.add_argument("--save", metavar="ENTITY/PROJECT", help="save the workspace in this project")
        args = parser.parse_args(argv)
        entity, _, project = (args.save or "entity/project").partition("/")
        if not (entity and project):
            parser.error(f"--save={args.save} must name an entity and a project, such as --save my-team/heed")

        from src.extras import require_extra

        require_extra("wandb_workspaces", by="python -m src.dashboard", extra="dashboard")
        import wandb
        from pydantic import TypeAdapter
        from wandb_workspaces.workspaces import Workspace

        from src.loggers.dashboard import build

        workspace = build(entity, project, args.by)
        if not args.save:
            print(TypeAdapter(Workspace).dump_json(workspace, exclude_none=True, indent=2).decode())
            return
        if not wandb.login(prompt=False, verify=False):
            raise UserError("--save needs a W&B account: run `wandb login`, or set WANDB_API_KEY")
        workspace.save()
        print(f"Saved: {workspace.url}")


if __name__ == "__main__":
    main()
