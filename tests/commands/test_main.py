"""The program `heedful`: its list of commands, the command that it runs, and what its messages call it."""

import ast
import re
from pathlib import Path

import pytest

from heedful import __version__
from heedful.__main__ import commands
from tests.forks import complete
from tests.helpers import ROOT, command


def heedful(folder: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run `heedful …` in a folder, and return the exit code and what it printed."""
    (python, *_), options = command(folder, "train")
    # as after the restart, which would repeat the command of the server
    options["env"] |= {"GLIBC_TUNABLES": "", **environment}
    code = "from heedful.__main__ import main; main()"
    process = complete([python, "-c", code, *arguments], options)
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_all_commands_are_listed(arguments: tuple[str, ...], tmp_path: Path) -> None:
    returncode, page, _ = heedful(tmp_path, *arguments)
    assert returncode == 0
    names = re.findall(r"^  (\w+) +[A-Z].{10,}$", page, re.MULTILINE)
    assert names == ["compare", "eval", "export", "faithfulness", "predict", "shortlist", "train"] == [*commands()]
    assert max(map(len, page.splitlines())) < 100


def test_the_version_and_a_misspelt_command(tmp_path: Path) -> None:
    assert heedful(tmp_path, "--version") == (0, f"heedful {__version__}\n", "")
    assert heedful(tmp_path, "trian") == (1, "", "Error: trian: no such command (did you mean train?)\n")


def test_a_command_names_itself_as_it_was_typed(tmp_path: Path) -> None:
    returncode, _, error = heedful(tmp_path, "train", "--nonsense")
    assert (returncode, error.splitlines()[0]) == (2, "usage: heedful train [flags] [key=value …]")
    returncode, page, _ = heedful(tmp_path, "train", "--help")
    title = "Train and test a classifier: `heedful train model/attention=luong_general`."
    assert (returncode, page.splitlines()[0]) == (0, title)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("heedful tr", [*commands()]),
        ("heedful train data/tokenizer=wh", ["data/tokenizer=whitespace"]),
        ("heedful  train seed=1 optimizer.l", ["optimizer.lr="]),
        ("heedful predict ckpt", ["ckpt_path="]),
        ("heedful compare out", []),  # is no command of Hydra
    ],
)
def test_a_shell_completes_commands_and_their_options(line: str, words: list[str], tmp_path: Path) -> None:
    returncode, page, error = heedful(tmp_path, "-sc", "query=bash", COMP_LINE=line)
    assert (returncode, page.split()) == (0, words), error


def test_a_shell_installs_the_completion_of_all_commands(tmp_path: Path) -> None:
    assert heedful(tmp_path, "-sc", "install=bash")[1].endswith("-F hydra_bash_completion heedful\n")
    assert "complete -c heedful -x" in heedful(tmp_path, "train", "-sc", "install=fish")[1]


def test_a_command_finds_data_and_modules_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from pytorch_lightning import Callback\n\nclass Mine(Callback):\n"
        "    def on_train_end(self, trainer, module): print('trained with mine.py')\n"
    )
    (tmp_path / "my.csv").write_text("text,label\n" + "good film,1\nbad film,0\n" * 19)
    options = ["data=csv", "data.path=my.csv", "model=linear", "trainer.max_epochs=1", "callbacks=none", "logger=none"]
    mine = ["+callbacks.mine._target_=mine.Mine", "extras.trusted_modules=[mine]", "hydra.run.dir=run"]
    returncode, page, error = heedful(tmp_path, "train", *options, *mine)
    assert returncode == 0, error
    assert "trained with mine.py" in page
    assert '"command": "heedful train data=csv' in (tmp_path / "run" / "result.json").read_text()


def test_no_message_names_a_command_or_a_file_of_the_clone() -> None:
    """Who has installed Heedful has no folder src/."""
    for path in (ROOT / "src" / "heedful").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
        strings = {node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        texts = [str(node.value) for node in strings - docstrings]
        assert not [text for text in texts if re.search(r"\bsrc[./][a-z]", text)], path
