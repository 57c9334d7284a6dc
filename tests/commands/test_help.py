"""The page that --help prints."""

import pytest

from heedful.commands.help import help_page
from tests.helpers import repository


@pytest.fixture(scope="module")
def page() -> str:
    return help_of("train", "data=csv", "experiment=report", "optimizer.lr=0.5")


def help_of(command: str, *overrides: str) -> str:
    files = repository(command)
    return help_page(files, list(overrides), files.compose(overrides, sweeps=True), "A description.", 100)


def test_each_option_has_the_comment_of_its_file(page: str) -> None:
    assert "\n  test: true # test the best checkpoint\n" in page
    assert "\n    path: ??? # path of the file, relative to the current folder; or a folder" in page  # data/csv
    assert "\n    limit: null # maximum number of texts per split\n" in page  # data/base
    assert "\n  sweep: # options of a sweep (-m)\n    dry_run: false # validate" in page
    assert "\n    lr: 0.5 # learning rate\n" in page


def test_each_group_has_its_choices(page: str) -> None:
    assert "\n  data              20_newsgroups ag_news banking77 cr csv* dbpedia" in page
    assert "\n  trainer           auto cpu* ddp ddp_sim default gpu mps\n" in page
    assert " report* " in page  # a choice, although another experiment includes it
    assert "\n  callbacks         attention baseline checkpoints default*" in page


def test_a_command_without_choices_shows_its_options_first() -> None:
    page = help_of("predict", "ckpt_path=x")
    assert page.startswith(
        "A description.\n\nOptions, set by path.of.option=value, with current values:\n\n  ckpt_path: x #"
    )
