"""The linear branch against scikit-learn on dictionaries of n-grams, and its place in a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_union
from torch.nn import functional

from heedful.base.errors import UserError
from heedful.data.padded_batches import BatchBuilder, Inputs, Truncation
from heedful.models.branch import NgramBranch, mean_gradients
from heedful.models.loss import BinaryCrossEntropy, BinaryRelevance, CrossEntropy, SquaredError
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.training.build import datamodule
from heedful.training.restoring import restore
from tests.helpers import read_csv, run_config, saved_predictions, small_config, train

NO_TRUST = OmegaConf.create({"trusted_modules": []})
WORDS = 13
VOCABULARY = tuple(f"word{i}" for i in range(WORDS))


def batches(texts: int = 61, classes: int = 2, seed: int = 0) -> BatchBuilder:
    """Texts of random tokens; a token of the class of a text is more frequent in it."""
    rng = np.random.default_rng(seed)
    labels = np.arange(texts) % classes
    rows = [
        rng.choice(np.r_[np.arange(2, WORDS), [2 + label] * 3], size=rng.integers(2, 18)).astype(np.int32)
        for label in labels
    ]
    offsets = np.cumsum([0, *map(len, rows)])
    return BatchBuilder(np.concatenate(rows), offsets, labels, Truncation(17, "first"))


def relabelled(data: BatchBuilder, labels: np.ndarray) -> BatchBuilder:
    return BatchBuilder(data.tokens.numpy(), data.offsets, labels, data.truncation)


def tokens_of(data: BatchBuilder) -> list[list[str]]:
    bounds = zip(data.offsets, data.offsets[1:], strict=False)
    return [[str(token) for token in data.tokens[start:stop].tolist()] for start, stop in bounds]


def bigrams(tokens: list[str]) -> list[str]:
    return [*tokens, *map(" ".join, zip(["<start>", *tokens], tokens, strict=False))]


def pairs_with_gaps(tokens: list[str]) -> list[str]:
    gaps = (zip(tokens, tokens[gap + 1 :], strict=False) for gap in (1, 2))
    return [
        *bigrams(tokens),
        *(f"{first} _{gap} {second}" for gap, pairs in enumerate(gaps) for first, second in pairs),
    ]


def fitted(
    data: BatchBuilder,
    num_logits: int = 2,
    held_out: BatchBuilder | None = None,
    class_weights: Sequence[float] | None = None,
    **options: Any,
) -> NgramBranch:
    branch = NgramBranch(VOCABULARY, num_logits, **options).eval()
    loss = CrossEntropy([1] * (int(data.targets.max()) + 1), class_weights=class_weights)
    branch.fit(data, data if held_out is None else held_out, loss if num_logits > 1 else BinaryCrossEntropy([1, 1]))
    return branch


def logits(branch: NgramBranch, data: BatchBuilder) -> np.ndarray:
    batch = data(np.arange(len(data)))
    return branch(batch.inputs).numpy()


def regression(c: float = 10.0) -> LogisticRegression:
    return LogisticRegression(C=c, solver="liblinear", dual=True, random_state=0, tol=1e-8, max_iter=10_000)


@pytest.mark.parametrize(
    ("min_count", "max_gap", "characters"), [(1, 0, False), (3, 0, False), (2, 2, False), (1, 0, True), (3, 0, True)]
)
def test_idf_equals_scikit_learn(min_count: int, max_gap: int, characters: bool) -> None:
    data, other = batches(), batches(23, seed=1)
    counts: dict[str, Any] = {"binary": True, "min_df": min_count}
    parts = [TfidfVectorizer(analyzer=pairs_with_gaps if max_gap else bigrams, **counts)]
    if characters:
        counts |= {"preprocessor": lambda tokens: " ".join(VOCABULARY[int(token)] for token in tokens)}
        counts |= {"ngram_range": (2, 5)}
        parts.append(TfidfVectorizer(analyzer="char_wb", **counts))
    vectorizer = make_union(*parts)
    model = regression().fit(vectorizer.fit_transform(tokens_of(data)), data.targets.numpy())
    expected = model.decision_function(vectorizer.transform(tokens_of(other)))
    options = {"min_count": min_count, "max_gap": max_gap, "characters": characters}
    branch = fitted(data, **options)
    found = logits(branch, other)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], expected, atol=5e-3)
    one = logits(fitted(data, num_logits=1, **options), other)
    np.testing.assert_allclose(one[:, 0], found[:, 1] - found[:, 0], rtol=1e-5)
    loaded = NgramBranch(VOCABULARY, 2, max_gap=max_gap, characters=None if characters else False).eval()
    loaded.load_state_dict(branch.state_dict())
    assert np.array_equal(logits(loaded, other), found)


@pytest.mark.parametrize("are_stems", [True, False])
def test_ngrams_of_characters_are_kept_if_folds_prefer_them(are_stems: bool) -> None:
    """Each text has a word of its own, which begins with the stem of its class, or with any."""
    words = [f"{stem}{i}{i}" for i in range(30) for stem in ("good", "bad")]
    tokens = np.arange(2, 62) if are_stems else np.random.default_rng(0).permutation(60) + 2
    data = BatchBuilder(tokens.astype(np.int32), np.arange(61), np.tile([0, 1], 30), Truncation(5, "first"))
    branch = NgramBranch(("", "", *words), 2, characters=None).eval()
    branch.fit(data, data, CrossEntropy([1, 1]))
    assert (branch.rows_of_pieces is not None) == are_stems


@pytest.mark.parametrize(("classes", "columns"), [(2, True), (3, True), (3, False)])
def test_columns_are_features_beside_the_ngrams_of_one_class_against_the_rest(classes: int, columns: bool) -> None:
    """Scikit-learn gets the same features; the shares of the tokens leave out what the columns add to the log odds."""
    data, other = batches(67, classes), batches(23, classes, seed=1)
    vectorizer = TfidfVectorizer(analyzer=bigrams, binary=True)
    rows = [vectorizer.fit_transform(tokens_of(data)), vectorizer.transform(tokens_of(other))]
    for number, texts in enumerate((data, other) if columns else ()):
        texts.columns = csr_matrix(np.random.default_rng(number).normal(size=(len(texts), 2)).astype(np.float32))
        rows[number] = hstack([rows[number], texts.columns])
    expected = OneVsRestClassifier(regression()).fit(rows[0], data.targets.numpy()).predict_proba(rows[1])
    branch = fitted(data, classes)
    np.testing.assert_allclose(torch.tensor(logits(branch, other)).softmax(1).numpy(), expected, atol=3e-3)
    inputs, targets, _ = other(np.arange(23))
    chosen = branch(inputs).softmax(1)[range(23), targets].logit()
    without = branch(inputs._replace(mask=torch.zeros_like(inputs.mask))).softmax(1)[range(23), targets].logit()
    torch.testing.assert_close(branch.contributions(inputs, targets).sum(1), chosen - without, atol=1e-4, rtol=1e-4)
    loaded = NgramBranch(VOCABULARY, classes).eval()
    loaded.load_state_dict(branch.state_dict())
    assert torch.equal(loaded(inputs), branch(inputs))


@pytest.mark.parametrize("scale", ["nb", "nb_idf"])
def test_the_scales_of_naive_bayes_equal_their_formulas(scale: str) -> None:
    """Wang and Manning 2012 define the log ratio; `nb_idf` is the idf times the root of its absolute value."""
    data, other = batches(), batches(23, seed=1)
    vectorizer = TfidfVectorizer(analyzer=bigrams, binary=True, use_idf=False, norm=None)
    counts, labels = vectorizer.fit_transform(tokens_of(data)).toarray(), data.targets.numpy()
    p, q = (1 + counts[labels == label].sum(0) for label in (1, 0))
    scales = np.log(p / p.sum() / (q / q.sum()))
    if scale == "nb_idf":
        idf = TfidfVectorizer(analyzer=bigrams, binary=True).fit(tokens_of(data)).idf_
        scales = np.abs(scales) ** 0.5 * idf

    def values(rows: np.ndarray) -> np.ndarray:
        return rows * scales / np.linalg.norm(rows * scales, axis=1, keepdims=True)

    model = regression(2.0).fit(values(counts), labels)
    expected = model.decision_function(values(vectorizer.transform(tokens_of(other)).toarray()))
    found = logits(fitted(data, num_logits=1, scale=scale, c=2.0), other)
    np.testing.assert_allclose(found[:, 0], expected, atol=5e-3)


@pytest.mark.parametrize(("classes", "scale"), [(2, "idf"), (3, "idf"), (3, "nb")])
def test_with_many_labels_each_logit_is_that_of_a_model_of_the_label_alone(classes: int, scale: str) -> None:
    """The share of a token in the log odds of a label is that in a model of this label and no other."""
    data, rng = batches(classes=classes), np.random.default_rng(7)
    labels = (np.arange(61)[:, None] % classes == np.arange(classes)) | (rng.random((61, classes)) < 0.3)
    both = relabelled(data, labels)
    branch = NgramBranch(VOCABULARY, classes, scale=scale).eval()  # type: ignore[arg-type]
    loss = BinaryRelevance(labels.sum(0).tolist())
    branch.bind(Multilabel())
    branch.fit(both, both, loss)
    inputs = both(np.arange(61)).inputs
    for label in range(classes):
        alone = fitted(relabelled(data, labels[:, label].astype(np.int64)), 1, scale=scale)
        assert branch(inputs)[:, label].tolist() == pytest.approx(alone(inputs)[:, 0].tolist(), abs=1e-5)
        shares, expected = (
            each.contributions(inputs, torch.full((61,), number)) for each, number in ((branch, label), (alone, 1))
        )
        torch.testing.assert_close(shares, expected, atol=1e-5, rtol=1e-4)


def test_c_is_chosen_by_the_loss_on_the_held_out_texts() -> None:
    """Held-out texts that are the training texts favour the weakest penalty, and those with random labels another."""
    data = batches(200)
    shuffled = relabelled(data, np.random.default_rng(0).permutation(200) % 2)
    for held_out, expected in ((data, 100.0), (shuffled, 3.0)):
        chosen, other = fitted(data, held_out=held_out, c=None), fitted(data, c=expected)
        assert torch.equal(chosen.table, other.table) and torch.equal(chosen.bias, other.bias)


@pytest.mark.parametrize("weights", [[1.0, 7.0, 2.0], [0.0, 1.0, 1.0]])
@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_class_weights_weigh_the_texts(weights: list[float], factor: float) -> None:
    """As in the loss of a neural model, a common factor of all weights has no effect."""
    data, other = batches(67, classes=3), batches(29, classes=3, seed=1)
    branch = fitted(data, 3, class_weights=[factor * weight for weight in weights])
    vectorizer = TfidfVectorizer(analyzer=bigrams, binary=True)
    labels = data.targets.numpy()
    of_text = np.array(weights)[labels] / np.array(weights)[labels].mean()
    matrix, others = vectorizer.fit_transform(tokens_of(data)), vectorizer.transform(tokens_of(other))
    found = logits(branch, other)
    for column in (1, 2) if weights[0] == 0 else range(3):
        model = regression().fit(matrix, labels == column, sample_weight=of_text)
        np.testing.assert_allclose(np.exp(found[:, column]), model.predict_proba(others)[:, 1], atol=2e-3)
    if weights[0] == 0:
        share = 1 / (of_text.sum() + 2)  # of a class whose texts do not count
        assert branch.bias[0].item() == pytest.approx(np.log(share / (1 - share)))


def repeat(data: BatchBuilder, counts: np.ndarray) -> BatchBuilder:
    parts = [data.tokens.numpy()[slice(*data.offsets[row : row + 2])] for row in np.repeat(range(len(data)), counts)]
    offsets = np.cumsum([0, *map(len, parts)])
    return BatchBuilder(np.concatenate(parts), offsets, np.repeat(data.targets.numpy(), counts), data.truncation)


@pytest.mark.parametrize(
    ("scale", "classes"), [("idf", 2), ("nb", 2), ("nb_idf", 3), ("idf", 0)], ids=["idf", "nb", "nb_idf", "number"]
)
def test_the_weights_of_equal_texts_add_up(scale: str, classes: int) -> None:
    """Two copies of a text with the weights s/4 and 3s/4 are as good as s copies; the mean of s is 2."""
    data, other = batches(60, classes or 2), batches(29, classes or 2, seed=1)
    s = np.array([1, 1, 4] * 20)[np.random.default_rng(2).permutation(60)]
    weighted, repeated = repeat(data, np.full(60, 2)), repeat(data, s)
    weighted.weights = 7 * np.stack([s / 4, 3 * s / 4], 1).ravel()
    found = []
    for texts in (weighted, repeated, repeat(data, np.full(60, 2))):
        branch = NgramBranch(VOCABULARY, max(classes, 1), scale=scale).eval()
        if not classes:
            texts.targets = texts.targets.float()
            branch.bind(Regression())
        branch.fit(texts, None, CrossEntropy([1] * classes) if classes else SquaredError([]))
        found.append(logits(branch, other))
    np.testing.assert_allclose(found[0], found[1], rtol=5e-3, atol=5e-3)
    assert abs(found[0] - found[2]).max() > 0.05


def test_class_weights_reach_a_linear_model_by_name(tmp_path: Path) -> None:
    found = []
    for number, weights in enumerate(["[1,1,50]", "{positive: 50}"]):
        folder = tmp_path / str(number)
        options = ["model=linear", "logger=none", "callbacks=checkpoints", f"loss.class_weights={weights}"]
        run_config(small_config(folder, options))
        found.append(saved_predictions(folder).probabilities)
    assert found[0][:, 2].mean() > 0.6 and np.array_equal(*found)
    with pytest.raises(UserError, match=r"loss\.class_weights\.positiv: no such class \(did you mean positive\?\)"):
        run_config(small_config(tmp_path / "misspelt", ["model=linear", "loss.class_weights={positiv: 50}"]))


@pytest.mark.parametrize("scale", ["idf", "nb"])
def test_a_class_without_training_texts_is_improbable(scale: str) -> None:
    """The first of three classes has no text: its log odds are those of the smoothed frequency, 1 to 62."""
    data = batches()
    shifted = relabelled(data, data.targets.numpy() + 1)
    branch = fitted(shifted, 3, scale=scale)
    assert branch.bias[0].item() == pytest.approx(-np.log(62))
    found = logits(branch, shifted)
    assert (found.argmax(1) == shifted.targets.numpy()).all() and np.isfinite(found).all()


def test_unseen_ngrams_leave_the_bias() -> None:
    data = batches()
    branch = fitted(data)
    unseen = torch.tensor([[1, 1, 1]])  # no training text contains token 1
    expected = torch.tensor([[-0.5, 0.5]]) * branch.bias
    assert torch.equal(branch(Inputs(unseen, unseen > 0)), expected)


def test_padding_and_repetition_have_no_effect() -> None:
    branch = fitted(batches(), head=2, tail=3)
    tokens = torch.tensor([[2, 3, 4, 2, 3, 0, 0, 0]])
    padded = branch(Inputs(tokens, tokens > 0))
    torch.testing.assert_close(branch(Inputs(tokens[:, :5], tokens[:, :5] > 0)), padded)
    bag = fitted(batches(), max_order=1)
    once, twice = torch.tensor([[2, 3, 4]]), torch.tensor([[2, 3, 4, 3, 2, 4]])
    torch.testing.assert_close(bag(Inputs(once, once > 0)), bag(Inputs(twice, twice > 0)))


@pytest.mark.parametrize(("zone", "position"), [({"head": 1}, 0), ({"tail": 1}, 4), ({"tail": [3, 1]}, 4)])
def test_the_ends_of_a_text_have_features_of_their_own(zone: dict[str, Any], position: int) -> None:
    """The label depends only on which of two words is at the end; both occur in every text."""
    rng = np.random.default_rng(0)
    rows, labels = [], np.arange(62) % 2
    for label in labels:
        row = rng.permutation([2 + (1 - label), *range(4, 8)]).tolist()
        row.insert(position if position == 0 else len(row), 2 + label)
        rows.append(row)
    data = BatchBuilder(np.array(rows, np.int32).ravel(), np.arange(63) * 6, labels, Truncation(17, "first"))
    with_ends = fitted(data, max_order=1, **zone)
    assert (logits(with_ends, data).argmax(1) == labels).all()
    assert (logits(fitted(data, max_order=1), data).argmax(1) == labels).mean() < 0.8


@pytest.mark.parametrize(("scale", "characters"), [("idf", False), ("nb", False), ("nb_idf", True)])
@pytest.mark.parametrize(("classes", "num_logits"), [(2, 1), (2, 2), (3, 3)])
def test_the_shares_of_the_tokens_sum_to_the_log_odds(classes, num_logits, scale, characters) -> None:
    options: dict[str, Any] = {"scale": scale, "max_order": 3, "max_gap": 2, "head": 2, "tail": [3, 5]}
    branch = fitted(batches(61, classes), num_logits, characters=characters, **options)
    batch = batches(23, classes, seed=1)(np.arange(23))
    chosen = (batch.targets + 1) % classes

    def log_odds(inputs: Inputs) -> torch.Tensor:
        probabilities = Multiclass().probabilities(branch(inputs))
        return torch.logit(probabilities.gather(1, chosen.unsqueeze(1)).squeeze(1), eps=1e-7)

    shares = branch.contributions(batch.inputs, chosen)
    unseen = torch.ones_like(batch.inputs.ids)  # no training text contains token 1
    change = log_odds(batch.inputs) - log_odds(batch.inputs._replace(ids=unseen))
    torch.testing.assert_close(shares.sum(1), change, atol=2e-5, rtol=1e-4)
    assert not shares[~batch.inputs.mask].any()


@pytest.mark.parametrize("columns", [False, True])
def test_numbers_have_the_ridge_regression_of_scikit_learn(columns: bool) -> None:
    """The held-out texts choose c; a share is in the unit of the numbers, 1,000 times that of the logits."""
    data, other = batches(67, 3), batches(23, 3, seed=1)
    rng, beside = np.random.default_rng(3), []
    for texts in (data, other):
        texts.targets = torch.tensor(1e6 + 1000 * (texts.targets.numpy() + rng.normal(size=len(texts))))
        beside.append(csr_matrix(rng.normal(size=(len(texts), 2)).astype(np.float32)))
        texts.columns = beside[-1] if columns else None
    task = Regression(mean=1e6, scale=1000.0)
    vectorizer = TfidfVectorizer(analyzer=bigrams, binary=True)
    rows = [vectorizer.fit_transform(tokens_of(data)), vectorizer.transform(tokens_of(other))]
    rows = [hstack(pair) if columns else pair[0] for pair in zip(rows, beside, strict=True)]
    targets, held_out = (task.scaled(each.targets).numpy() for each in (data, other))
    models = [Ridge(10 / c, tol=1e-10).fit(rows[0], targets) for c in (3, 10, 30, 100)]
    best = min(models, key=lambda model: float(np.mean((model.predict(rows[1]) - held_out) ** 2)))
    branch = NgramBranch(VOCABULARY, 1, c=None).eval()
    branch.bind(task)
    branch.fit(data, other, SquaredError([]))
    inputs = other(np.arange(23)).inputs
    assert branch(inputs)[:, 0].tolist() == pytest.approx(best.predict(rows[1]).tolist(), abs=1e-3)
    nothing = branch(inputs._replace(ids=torch.ones_like(inputs.ids)))
    shares = branch.contributions(inputs, torch.zeros(23, dtype=torch.long)).sum(1)
    torch.testing.assert_close(shares / 1000, (branch(inputs) - nothing)[:, 0], atol=1e-5, rtol=1e-4)


def test_the_mean_gradient_equals_that_of_small_steps() -> None:
    scores, bias = torch.tensor([[2.0, -3.0, 1.0], [-4.0, 5.0, 0.5]]), torch.tensor([-1.0, -2.0, 0.3])
    gradients = []
    for step in (np.arange(500) + 0.5) / 500:
        z = (bias + step * scores).double().requires_grad_()
        p = functional.logsigmoid(z).softmax(1)[:, 1]
        torch.logit(p).sum().backward()
        gradients.append(z.grad)
    found = mean_gradients(scores, bias, torch.tensor([1, 1]))
    torch.testing.assert_close(found.double(), torch.stack(gradients).mean(0), atol=1e-4, rtol=0)


def test_an_ngram_is_shared_equally_by_its_tokens_where_it_first_occurs() -> None:
    """The only bigram that all texts of class 1 have and no text of class 0 has is 5 6; words are not distinctive."""
    rows = [[5, 6, 7], [6, 5, 7]] * 31
    data = BatchBuilder(
        np.array(rows, np.int32).ravel(), np.arange(63) * 3, np.arange(1, 63) % 2, Truncation(17, "first")
    )
    branch = fitted(data, 1)
    text = torch.tensor([[2, 5, 6, 2, 5, 6]])  # of its n-grams, the training texts have 5, 6 and 5 6
    shares = branch.contributions(Inputs(text, text > 0), torch.ones(1, dtype=torch.long))[0]
    assert shares[1] == pytest.approx(shares[2]) and shares[1] > 0.1
    assert shares[[0, 3, 4, 5]].tolist() == [0, 0, 0, 0]


def test_the_linear_model_alone_is_a_run_like_any_other(tmp_path: Path) -> None:
    cfg = small_config(tmp_path / "run", ["model=linear", "logger=csv", "callbacks.progress=null"])
    result = run_config(cfg)
    model = restore(str(tmp_path / "run" / "checkpoints" / "best.ckpt"), NO_TRUST).model.eval()
    tokens = torch.tensor([[2, 3, 4, 5, 0]])
    assert torch.equal(model(Inputs(tokens, tokens > 0)), model.branch(Inputs(tokens, tokens > 0)))
    assert (result["status"], "test/acc" in result["metrics"]) == ("completed", True)
    features = (tmp_path / "run" / "baseline" / "features.csv").read_text().splitlines()
    assert features[0] == "class,feature,weight" and len(features) == 61


def test_a_model_with_a_branch_is_trained_saved_and_loaded(tmp_path: Path) -> None:
    options = ["model/branch=ngrams", "callbacks=checkpoints", "trainer.max_epochs=1"]
    both = train(tmp_path / "both", *options)
    train(tmp_path / "none", *options, "model.branch.weight=0")
    model, neural = (
        restore(str(tmp_path / name / "checkpoints" / "best.ckpt"), NO_TRUST).model.eval() for name in ("both", "none")
    )
    assert both["parameters"]["by_part"].get("branch", 0) == 0
    tokens = torch.tensor([[2, 3, 4, 5, 0]])
    with torch.no_grad():
        expected = (neural(Inputs(tokens, tokens > 0)) + model.branch(Inputs(tokens, tokens > 0))) / 2
        torch.testing.assert_close(model(Inputs(tokens, tokens > 0)), expected)
        torch.testing.assert_close(model.forward_with_weights(Inputs(tokens, tokens > 0))[0], expected)
        torch.testing.assert_close(model.train()(Inputs(tokens, tokens > 0)), neural(Inputs(tokens, tokens > 0)))


def test_the_weight_is_chosen_by_the_loss_on_the_validation_texts(tmp_path: Path) -> None:
    options = ["model/branch=ngrams", "model.branch.weight=null", "callbacks=checkpoints", "trainer.max_epochs=3"]
    result = train(tmp_path / "run", *options)
    cfg = small_config(tmp_path / "run")
    data = datamodule(cfg)
    model = restore(str(tmp_path / "run" / "checkpoints" / "best.ckpt"), NO_TRUST).model.eval()
    batch = data.builder("val")(np.arange(data.sizes["val"]))
    chosen, losses = float(model.branch.weight), []
    with torch.no_grad():
        for weight in np.arange(21) / 20:
            model.branch.weight.fill_(float(weight))
            losses.append(functional.cross_entropy(model(batch.inputs), batch.targets).item())
    assert chosen == pytest.approx(np.argmin(losses) / 20) and losses[0] > min(losses)
    assert result["best"]["value"] == pytest.approx(min(losses), rel=1e-5)
    logged = [row for row in read_csv(tmp_path / "run" / "csv" / "metrics.csv") if row["val/network_loss"]]
    assert float(logged[result["best"]["epoch"]]["val/network_loss"]) == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.parametrize("precision", [pytest.param("bf16-mixed", marks=pytest.mark.weekly), "bf16-true", "64-true"])
def test_a_branch_works_beside_logits_of_other_precisions(precision: str, tmp_path: Path) -> None:
    options = ["model/branch=ngrams", "callbacks=checkpoints", "trainer.max_epochs=1", "model.branch.weight=null"]
    assert train(tmp_path, *options, f"trainer.precision={precision}")["status"] == "completed"


@pytest.mark.parametrize("options", [{"min_count": 62}, {"max_gap": 19, "head": 19, "tail": [19, 0], "max_order": 19}])
def test_options_beyond_the_texts_have_no_effect(options: dict[str, Any]) -> None:
    branch, data = fitted(batches(), **options), batches(23, seed=1)
    batch = data(np.arange(23))
    assert np.isfinite(logits(branch, data)).all()
    assert torch.isfinite(branch.contributions(batch.inputs, batch.targets)).all()
    if "min_count" in options:
        assert len(branch.codes) == 1 and not branch.table.any()
