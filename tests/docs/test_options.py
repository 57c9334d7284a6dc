"""docs/options.md, which is generated from the config files."""

from pathlib import Path

from docs.options import PAGE, render, rows


def test_the_committed_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "conf/ or a signature has changed: run `make docs`"


def test_every_option_has_a_type_and_a_meaning() -> None:
    table = [line for line in render().splitlines() if line.startswith("| `")]
    assert len(table) > 200
    assert not [line for line in table if "|  |" in line], "write a comment behind the option in its config file"


def test_a_row_has_the_type_default_and_comment_of_its_option() -> None:
    page = render()
    assert "| `test` | boolean | `true` | test the best checkpoint |" in page
    assert "| `data.limit` | integer or null | `null` | maximum number of texts per split | all |" in page
    assert "`rnn` (birnn, rnn), `mingru` (mingru) | rnn (tanh), lstm, gru or mingru |" in page
    accelerators = "`cpu`, `${oc.select:device,auto}` (auto), `gpu` (ddp, gpu), `mps` (mps)"
    assert f"| `trainer.accelerator` | text | {accelerators} | cpu, gpu, mps or auto | all |" in page


def test_an_option_without_a_comment_has_the_meaning_in_the_docstring_of_its_class(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "_target_: heedful.models.embedding.learned.LearnedEmbedding\nword_dropout: 0.25\n", encoding="utf-8"
    )
    ((row, defaults),) = rows([path], "model.embedding").items()
    assert row.type == "number" and row.meaning.startswith("probability of replacing a token")
    assert defaults == {"0.25": ["mine"]}
