"""Study files: their claims, and the message that lists their mistakes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heedful.base.errors import UserError
from heedful.records.runs import find_runs
from heedful.records.variants import Variant, group_runs
from studies.claims import claim_lines, judge_study, main
from studies.study import load_study
from tests.helpers import ROOT
from tests.run_folders import make_probabilities, write_run, write_sweep

LABELS = np.arange(101) % 2
CLAIM: dict[str, Any] = {
    "claim": "Keras beats none",
    "source": "a test",
    "metric": "acc",
    "direction": "higher",
    "variants": {"attention": "keras"},
    "against": {"attention": "none"},
}


def write_study(folder: Path, *claims: Any) -> Path:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({"claims": list(claims)}))
    return path


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five seeds of two attentions, of which one is better and less well calibrated."""
    return write_sweep(tmp_path_factory.mktemp("sweep"), {("lstm", "none"): 0.78, ("lstm", "keras"): 0.95})


@pytest.fixture(scope="module")
def variants(sweep: Path) -> list[Variant]:
    return group_runs(find_runs([sweep]).runs)


def test_the_claims_of_the_twenty_model_report(sweep: Path) -> None:
    by_claim = {claim.definition.claim: claim for claim in judge_study("twenty_variants", [sweep])}
    assert len(by_claim) == 14
    expected = "no variant with encoder=bilstm has a counterpart with encoder=rnn"
    assert by_claim["BiLSTM beats RNN"].reason == expected


def test_a_bundled_study_is_found_beside_a_folder_of_its_name(sweep: Path, tmp_path, monkeypatch) -> None:
    (tmp_path / "faithfulness").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(judge_study("faithfulness", [sweep])) == 3


@pytest.mark.parametrize(("direction", "verdict"), [("higher", "supported"), ("lower", "contradicted")])
def test_the_direction_of_a_claim_determines_its_verdict(sweep: Path, tmp_path, direction: str, verdict: str) -> None:
    (claim,) = judge_study(write_study(tmp_path, CLAIM | {"direction": direction}), [sweep])
    assert (claim.verdict, claim.definition.source) == (verdict, "a test")
    assert claim_lines(claim)[0].startswith("+0.1676 (+")


def test_varying_options_select_variants(tmp_path: Path) -> None:
    for dim, correct in ((8, LABELS > 0), (64, LABELS >= 0)):
        for seed in range(5):
            options = {"model.encoder.hidden_dim": dim}
            write_run(
                tmp_path / f"{dim}_{seed}", make_probabilities(LABELS, correct), LABELS, seed=seed, options=options
            )
    selectors = {"variants": {"hidden_dim": 64}, "against": {"hidden_dim": 8}}
    (claim,) = judge_study(write_study(tmp_path, CLAIM | selectors), [tmp_path])
    assert claim.verdict == "supported"
    assert claim_lines(claim)[1].startswith("hidden_dim=64 against hidden_dim=8: +0.5050 (")


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    for dim in (64, 256):
        options = {"model.encoder.hidden_dim": dim}
        write_run(tmp_path / str(dim), options=options)
    documentation = (ROOT / "docs" / "comparing.md").read_text()
    path = tmp_path / "study.yaml"
    path.write_text(documentation.split("```yaml\n")[1].split("```")[0])
    (claim,) = load_study(path, group_runs(find_runs([tmp_path]).runs)).claims
    assert (claim.metric, claim.negligible) == ("brier", 0.005)


def test_a_choice_outside_conf_is_valid_if_a_run_has_it(tmp_path: Path) -> None:
    for attention in ("mine", "none"):
        write_run(tmp_path / attention, attention=attention)
    mine = {"variants": {"attention": "mine"}}
    assert len(judge_study(write_study(tmp_path, CLAIM | mine), [tmp_path])) == 1


def variants_with(**selector: Any) -> dict[str, Any]:
    return {"variants": selector}


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"metric": "f1_marco"}, "claims.0.metric: no such metric 'f1_marco' (did you mean f1_macro?)"),
        ({"directon": "lower"}, "claims.0.directon: Extra inputs are not permitted"),
        ({"direction": "up"}, "claims.0.direction: Input should be 'higher' or 'lower'"),
        ({"negligible": -1.0}, "claims.0.negligible: Input should be greater than 0"),
        (variants_with(), "claims.0.variants: Dictionary should have at least 1 item"),
        (variants_with(atention="keras"), "no such component or varying option 'atention' (did you mean attention?)"),
        (variants_with(attention=["keras", "unifrm"]), "no such attention 'unifrm' (did you mean uniform?)"),
        (variants_with(attention={"not": ["bahdanu"]}), "no such attention 'bahdanu' (did you mean bahdanau?)"),
        (variants_with(attention={"nto": ["none"]}), "variants.attention: expects a choice, a list of choices, or"),
    ],
)
def test_a_mistake_is_reported_with_file_key_and_valid_name(variants, tmp_path, claim, message) -> None:
    path = write_study(tmp_path, CLAIM | claim)
    with pytest.raises(UserError) as error:
        load_study(path, variants)
    text = str(error.value)
    assert text.startswith(f"{path} is not a valid study:\n")
    assert message in text
    assert len(text.split("\n")) == 2
    assert "pydantic" not in text


def test_all_mistakes_are_reported_together(variants: list[Variant], tmp_path: Path) -> None:
    path = write_study(tmp_path, CLAIM | {"metric": "auc"}, {**CLAIM, "direction": 1, "sauce": "x"}, "a claim", None)
    with pytest.raises(UserError, match=r"(?s)claims\.0\.metric(.*)claims\.1\.sauce(.*)claims\.3"):
        load_study(path, variants)


@pytest.mark.parametrize(
    "content",
    [b"claims: [", b"claim: []", b"\xff\xfe\x00", b"claims: !!python/object/apply:os.system [ls]"],
    ids=range(4),
)
def test_a_file_without_claims_is_refused(variants: list[Variant], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"(?s)study\.yaml (cannot be read|is not a valid study:.*claim: Extra)"):
        load_study(path, variants)


def test_the_command_prints_the_verdicts(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(sweep), "--study", str(write_study(tmp_path, CLAIM))])
    output = " ".join(capsys.readouterr().out.split())
    assert "Keras beats none supported +0.1676" in output
    with pytest.raises(SystemExit, match=r"Error: --study gone.yaml cannot be read \(\[Errno 2\] No such file"):
        main([str(sweep), "--study", "gone.yaml"])
