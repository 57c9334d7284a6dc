"""Study files: their claims, and the message that lists their mistakes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from src.comparison.comparison import compare
from src.comparison.runs import find_runs
from src.comparison.study import DEFAULT_STUDY, load_study
from src.comparison.variants import Variant, group_runs
from src.errors import UserError
from tests.comparison.runs import make_probabilities, write_run, write_sweep

LABELS = np.arange(101) % 2
CLAIM: dict[str, Any] = {
    "claim": "Keras beats none",
    "source": "a test",
    "metric": "acc",
    "direction": "higher",
    "pairs": [{"variants": {"attention": "keras"}, "against": {"attention": "none"}}],
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


def test_the_default_study_is_valid(variants: list[Variant]) -> None:
    assert len(load_study(DEFAULT_STUDY, variants).claims) == 5


def test_without_a_study_claims_about_missing_variants_are_omitted(sweep: Path) -> None:
    assert [claim.text for claim in compare([sweep]).claims] == ["Attention beats no attention"]
    texts = {claim.text: claim for claim in compare([sweep], study=DEFAULT_STUDY).claims}
    assert len(texts) == 5
    assert texts["BiLSTM beats the others"].evidence == (
        "no variant with encoder=bilstm has a counterpart with encoder=rnn or lstm or birnn",
    )
    assert texts["Attention beats uniform attention"].evidence == (
        "no variant with attention=not none or uniform has a counterpart with attention=uniform",
    )


@pytest.mark.parametrize(("direction", "verdict"), [("higher", "supported"), ("lower", "not supported")])
def test_the_direction_of_a_claim_determines_its_verdict(
    sweep: Path, tmp_path: Path, direction: str, verdict: str
) -> None:
    (claim,) = compare([sweep], study=write_study(tmp_path, CLAIM | {"direction": direction})).claims
    assert (claim.verdict, claim.text, claim.source) == (verdict, "Keras beats none", "a test")
    assert claim.numbers.startswith("+16.76 (+")


def test_a_claim_about_calibration_error(sweep: Path, tmp_path: Path) -> None:
    """All predictions have a confidence of 80 %: the calibration errors are 2 and 15 points."""
    lower = CLAIM | {"metric": "ece", "direction": "lower"}
    (claim,) = compare([sweep], study=write_study(tmp_path, lower)).claims
    assert claim.verdict == "not supported"
    assert claim.numbers.startswith("+12.87 (+8.56")
    assert "points of calibration error" in claim.numbers


def test_an_undefined_metric_is_inconclusive(tmp_path: Path) -> None:
    ones = np.ones(7, dtype=int)
    for seed in range(5):
        for attention in ("none", "keras"):
            folder = tmp_path / f"{attention}{seed}"
            write_run(folder, make_probabilities(ones, ones > 0), ones, seed=seed, attention=attention)
    (claim,) = compare([tmp_path], study=write_study(tmp_path, CLAIM | {"metric": "auroc"})).claims
    assert (claim.verdict, claim.evidence) == ("inconclusive", ("AUROC is not defined on these test texts",))


def test_a_difference_below_the_threshold_is_negligible(sweep: Path, tmp_path: Path) -> None:
    (claim,) = compare([sweep], study=write_study(tmp_path, CLAIM | {"negligible": 0.5})).claims
    assert claim.verdict == "real but negligible"


def test_varying_options_select_variants(tmp_path: Path) -> None:
    for dim, correct in ((8, LABELS > 0), (64, LABELS >= 0)):
        for seed in range(5):
            options = {"model.encoder.hidden_dim": dim}
            write_run(
                tmp_path / f"{dim}_{seed}", make_probabilities(LABELS, correct), LABELS, seed=seed, options=options
            )
    pairs = [{"variants": {"hidden_dim": 64}, "against": {"hidden_dim": 8}}]
    (claim,) = compare([tmp_path], study=write_study(tmp_path, CLAIM | {"pairs": pairs})).claims
    assert claim.verdict == "supported"
    assert claim.evidence[0].startswith("hidden_dim=64 against hidden_dim=8: +50.50 (")


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    for dim in (64, 256):
        options = {"model.encoder.hidden_dim": dim}
        write_run(tmp_path / str(dim), make_probabilities(LABELS, LABELS > 0), LABELS, options=options)
    documentation = (DEFAULT_STUDY.parents[1] / "docs" / "comparing.md").read_text()
    path = tmp_path / "study.yaml"
    path.write_text(documentation.split("```yaml\n")[1].split("```")[0])
    (claim,) = load_study(path, group_runs(find_runs([tmp_path]).runs)).claims
    assert (claim.metric, claim.negligible, claim.also_for_each) == ("ece", 0.005, "attention")


def test_a_choice_outside_conf_is_valid_if_a_run_has_it(tmp_path: Path) -> None:
    for attention in ("mine", "none"):
        write_run(tmp_path / attention, make_probabilities(LABELS, LABELS > 0), LABELS, attention=attention)
    pairs = [{"variants": {"attention": "mine"}, "against": {"attention": "none"}}]
    assert len(compare([tmp_path], study=write_study(tmp_path, CLAIM | {"pairs": pairs})).claims) == 1


def pairs_with(**selector: Any) -> dict[str, Any]:
    return {"pairs": [{"variants": selector, "against": {"attention": "none"}}]}


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"metric": "f1_marco"}, "claims[0].metric: no such metric 'f1_marco'; did you mean f1_macro?"),
        ({"metric": "accuracy"}, "claims[0].metric: no such metric 'accuracy'; did you mean acc?"),
        ({"directon": "lower"}, "claims[0].directon: no such key; did you mean direction?"),
        ({"direction": "up"}, "claims[0].direction: should be 'higher' or 'lower'"),
        ({"decided_by": "median"}, "claims[0].decided_by: should be 'mean' or 'strongest_rival'"),
        ({"claim": ""}, "claims[0].claim: is empty"),
        ({"source": 7}, "claims[0].source: expects text"),
        ({"claim": "a\nb"}, "claims[0].claim: contains a line break or a control character"),
        ({"source": "\x1b[31mred"}, "claims[0].source: contains a line break or a control character"),
        ({"metric": "x" * 100_000}, f"no such metric '{'x' * 60}'"),
        (pairs_with(attention="\x1b[31m"), "variants.attention: contains a line break or a control character"),
        ({"negligible": -1}, "claims[0].negligible: should be greater than 0"),
        ({"negligible": float("nan")}, "claims[0].negligible: should be a finite number"),
        ({"also_for_each": "atention"}, "no such component of `variants` 'atention'; did you mean attention?"),
        ({"pairs": []}, "claims[0].pairs: is empty"),
        ({"pairs": "all"}, "claims[0].pairs: expects a list"),
        ({"pairs": [{"variants": {"attention": "keras"}}]}, "claims[0].pairs[0].against: is missing"),
        (pairs_with(), "claims[0].pairs[0].variants: is empty"),
        (
            pairs_with(atention="keras"),
            "variants: no such component or varying option 'atention'; did you mean attention?",
        ),
        (pairs_with(attention="kears"), "variants: no such attention 'kears'; did you mean keras?"),
        (pairs_with(attention=["keras", "unifrm"]), "no such attention 'unifrm'; did you mean uniform?"),
        (pairs_with(attention={"not": ["bahdanu"]}), "no such attention 'bahdanu'; did you mean bahdanau?"),
        (pairs_with(attention={"nto": ["none"]}), "variants.attention: expects a choice, a list of choices, or {not:"),
        (pairs_with(attention=None), "variants.attention: expects a choice"),
        (pairs_with(attention=[]), "variants.attention: expects a choice"),
        (
            {"decided_by": "strongest_rival", "also_for_each": "attention"},
            "claims[0]: also_for_each requires decided_by: mean",
        ),
        (
            {"decided_by": "strongest_rival", "pairs": CLAIM["pairs"] * 2},
            "claims[0]: decided_by: strongest_rival requires one entry in `pairs`",
        ),
    ],
)
def test_a_mistake_is_reported_with_file_key_and_valid_name(
    variants: list[Variant], tmp_path: Path, claim: dict[str, Any], message: str
) -> None:
    path = write_study(tmp_path, CLAIM | claim)
    with pytest.raises(UserError) as error:
        load_study(path, variants)
    text = str(error.value)
    assert text.startswith(f"{path}: 1 mistake in the study\n")
    assert message in text
    assert len(text.split("\n")) == 2
    assert "pydantic" not in text


def test_all_mistakes_are_reported_together(variants: list[Variant], tmp_path: Path) -> None:
    path = write_study(tmp_path, CLAIM | {"metric": "auc"}, {**CLAIM, "direction": 1, "sauce": "x"}, "a claim", None)
    with pytest.raises(UserError, match=r"5 mistakes in the study(?s:.*)claims\[0\].metric(?s:.*)claims\[1\].sauce"):
        load_study(path, variants)


ALIASES = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (n + 1, n + 1, n, n) for n in range(97, 119))


def test_a_long_list_of_mistakes_is_shortened(variants: list[Variant], tmp_path: Path) -> None:
    path = write_study(tmp_path, *[CLAIM | {"metric": f"auc{number}"} for number in range(99)])
    with pytest.raises(UserError, match=r"99 mistakes in the study(?s:.*)claims\[19\](?s:.*)\n  and 79 more$"):
        load_study(path, variants)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"claims: [", "not valid YAML"),
        (b"", "the file: expects a mapping"),
        (b"- a", "the file: expects a mapping"),
        (b"claim: []", "claim: no such key; did you mean claims?"),
        (b"claims: []", "claims: is empty"),
        (b"\xff\xfe\x00", "study.yaml"),
        (b"claims: !!python/object/apply:os.system [ls]", "not valid YAML"),
        (b"[" * 5000, "study.yaml"),
        (ALIASES, "too many values"),
        (b"x" * 1_000_001, "is larger than 1,000,000 bytes"),
    ],
    ids=["YAML", "empty", "list", "key", "no claims", "encoding", "tag", "nesting", "aliases", "size"],
)
def test_a_file_without_claims_is_refused(
    variants: list[Variant], tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        load_study(path, variants)
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_a_missing_file_is_reported_with_a_suggestion(variants: list[Variant], tmp_path: Path) -> None:
    path = write_study(tmp_path, CLAIM)
    with pytest.raises(UserError, match=rf"--study .*studdy.yaml: no such file; did you mean {path}\?"):
        load_study(tmp_path / "studdy.yaml", variants)
    with pytest.raises(UserError, match="no such file"):
        load_study(tmp_path, variants)
