"""Small pretrained models of several kinds, saved as on the hub, against the output of transformers for each text."""

import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import load_file, save_file
from tokenizers import models, pre_tokenizers, processors

from heedful.base.errors import UserError
from heedful.data.padded_batches import Inputs
from heedful.data.schema import Schema
from heedful.data.tokenizer import Pretrained, Tokenizer
from heedful.models import hugging_face
from heedful.models.check import check_component
from heedful.models.classifier import Classifier
from heedful.models.embedding.pretrained import PretrainedEmbedding
from heedful.portable.onnx_model import TOLERANCE, PortableModel, convert
from heedful.tasks.multiclass import Multiclass
from heedful.training import build
from tests.helpers import evaluate, one_batch, run_config, saved_predictions, small_config
from tests.models.combinations import BASIS, load_yaml
from tests.models.reference import close

transformers = pytest.importorskip("transformers")

D, POSITIONS = 12, 23
WORDS = ("film", "good", "bad", "a", "the", "not", "so", "##ly")
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>")
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 3, "hidden_size": D, "intermediate_size": 13}
KINDS: dict[str, dict[str, Any]] = {
    "bert": {**SIZES, "pad_token_id": 0, "max_position_embeddings": POSITIONS},
    "roberta": {**SIZES, "max_position_embeddings": POSITIONS + 2},  # its positions start after its padding id, 1
    "albert": {**SIZES, "pad_token_id": 0, "embedding_size": 5, "max_position_embeddings": POSITIONS},
    "distilbert": {"n_layers": 2, "n_heads": 3, "dim": D, "hidden_dim": 13, "max_position_embeddings": POSITIONS},
    "modernbert": {**SIZES, **IDS, "max_position_embeddings": POSITIONS, "local_attention": 4},
}
TEXTS = ["a good film", "bad", "the film so not goodly so bad"]


def save(folder: Path, kind: str = "bert", adds_special_tokens: bool = True) -> Path:
    """Save a model with random weights and its tokenizer, which adds special tokens around a text on request."""
    special = ROBERTA if kind == "roberta" else BERT
    vocabulary = {token: i for i, token in enumerate(special + WORDS)}
    config = transformers.AutoConfig.for_model(kind, vocab_size=len(vocabulary) + 1, **KINDS[kind])
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config)
    for parameter in model.parameters():  # random, because norms and biases are initially all equal
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=special[3 if kind == "roberta" else 1]))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if adds_special_tokens:
        first, last = enclosing = ("<s>", "</s>") if kind == "roberta" else ("[CLS]", "[SEP]")
        ids = [(token, vocabulary[token]) for token in enclosing]
        backend.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ids)
    backend.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that saves a model of a kind once, and returns its folder."""
    folder = tmp_path_factory.mktemp("models")
    return cache(lambda kind: save(folder / kind, kind))


@pytest.fixture(scope="session")
def bert(saved: Callable[[str], Path]) -> Path:
    return saved("bert")


def config(model: Path, *overrides: str, tmp: Path | None = None) -> DictConfig:
    groups = ["data/tokenizer=pretrained", "model/embedding=pretrained", "model/encoder=pretrained"]
    options = [f"data.tokenizer.name_or_path={model}", "data.max_length=20"]
    return small_config((tmp or Path("unused")) / "run", [*groups, *options, *overrides])


def components(model: Path, *overrides: str) -> DictConfig:
    """The part of a configuration that creates a classifier."""
    pretrained = {"embedding": "pretrained", "encoder": "pretrained"}
    chosen = [line.removeprefix("model/").split("=") for line in overrides if "/" in line.partition("=")[0]]
    nodes = {group: load_yaml(group, name) for group, name in (BASIS | pretrained | dict(chosen)).items()}
    cfg = {"model": nodes, "data": {"max_length": 20, "tokenizer": {"name_or_path": str(model)}}}
    options = [line for line in overrides if "/" not in line.partition("=")[0]]
    return OmegaConf.merge(cfg, OmegaConf.from_dotlist(options))  # type: ignore[return-value]


def load_classifier(model: Path, *overrides: str) -> Classifier:
    classifier = build.classifier(components(model, *overrides), load_tokenizer(model).vocabulary, 3)
    classifier.load_pretrained()
    return classifier.double()


def load_tokenizer(model: Path) -> Tokenizer:
    return Pretrained(str(model)).train([])


def batch(model: Path, texts: list[str], padded_length: int = 0) -> Inputs:
    """The inputs of texts, padded to at least `padded_length`."""
    codec = Schema(tokenizer=load_tokenizer(model), class_names=("x",), max_length=20, keep="first")
    inputs = one_batch(codec, texts).inputs
    padding = (0, max(0, padded_length - inputs.ids.shape[1]))
    return Inputs(*(torch.nn.functional.pad(tensor, padding) for tensor in inputs[:2]))


@pytest.mark.parametrize(("kind", "adds_special_tokens"), [*((kind, True) for kind in KINDS), ("bert", False)])
def test_states_equal_those_of_transformers(kind: str, adds_special_tokens: bool, saved, tmp_path: Path) -> None:
    model = saved(kind) if adds_special_tokens else save(tmp_path / kind, kind, adds_special_tokens=False)
    classifier = load_classifier(model).eval()
    reference = transformers.AutoModel.from_pretrained(model).double().eval()
    backend = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    with torch.no_grad():
        encoded = classifier.encode(batch(model, [*TEXTS, ""], padded_length=11))
        for row, text in enumerate(TEXTS):
            ids = torch.tensor([backend.encode(text).ids])
            states = reference(input_ids=ids).last_hidden_state[0]  # (L + special)×D
            inner = states[1:-1] if adds_special_tokens else states
            assert close(encoded.states[row, : len(inner)], inner)
            assert (encoded.states[row, len(inner) :] == 0).all()
            assert encoded.mask[row].sum() == len(inner)
            assert close(encoded.summary[row], states[0] if adds_special_tokens else states.mean(0))
    classifier.float()
    for part, size in (
        (classifier.embedding, len(load_tokenizer(model).vocabulary)),
        (classifier.encoder, 5 if kind == "albert" else D),
    ):
        check_component(part, size)


@pytest.mark.parametrize("freeze", [True, False])
def test_a_frozen_model_has_no_gradients_and_no_dropout(bert: Path, freeze: bool) -> None:
    classifier = load_classifier(bert, f"model.encoder.freeze={freeze}", "model/attention=elementwise").train()
    inputs = batch(bert, TEXTS)
    first, second = classifier.encode(inputs), classifier.encode(inputs)
    assert torch.equal(first.states, second.states) == freeze
    components = classifier.named_children()
    trainable = {name for name, component in components for p in component.parameters() if p.requires_grad}
    assert trainable == {"attention", "head"} | (set() if freeze else {"embedding", "encoder"})


def test_a_checkpoint_can_be_evaluated_without_the_folder_of_its_pretrained_model(bert: Path, tmp_path: Path) -> None:
    model = shutil.copytree(bert, tmp_path / "mine")
    quiet = ["logger=csv", "~callbacks.progress", "trainer.max_epochs=1"]
    run_config(config(model, *quiet, "model/attention=elementwise", tmp=tmp_path))
    shutil.rmtree(model)
    evaluate(tmp_path / "again", tmp_path / "run" / "checkpoints" / "best.ckpt")
    before, after = (saved_predictions(tmp_path / run) for run in ("run", "again"))
    assert np.array_equal(before.probabilities, after.probabilities)


def test_a_description_cannot_select_code(bert: Path) -> None:
    description = hugging_face.describe_model(str(bert))
    hostile = {"attn_implementation": "someone/kernel", "auto_map": {"AutoModel": "evil--code.Model"}}
    model = hugging_face.build_model({**description, "config": {**description["config"], **hostile}})
    assert model.config._attn_implementation in ("sdpa", "eager")
    assert not hasattr(model.config, "auto_map")


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_too_long_for_the_positions_is_refused(kind: str, saved) -> None:
    model = saved(kind)
    classifier = load_classifier(model, f"data.max_length={POSITIONS - 2}").eval()
    inputs = Inputs(torch.full((1, POSITIONS - 2), 7), torch.ones(1, POSITIONS - 2, dtype=torch.bool))
    assert classifier(inputs).isfinite().all()
    message = r"model.encoder: max_length=22: the model reads at most 23 .* data.max_length=21"
    with pytest.raises(UserError, match=message):
        load_classifier(model, f"data.max_length={POSITIONS - 1}")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model/embedding=glove"], "reads vectors of 12 features, but the input has 50 features"),
        (["model/embedding=learned", "model.embedding.dim=12"], "use model/embedding=pretrained with the same"),
        (["model/position=index"], "has 13 features: use model/embedding=pretrained and model/position=none"),
        (["model.encoder.name_or_path=null"], "name_or_path=null: no pretrained model is selected"),
        (["model.embedding.name_or_path=null"], "name_or_path=null: .*write data/tokenizer=pretrained"),
    ],
)
def test_messages_about_impossible_combinations_state_the_remedy(bert, overrides, message) -> None:
    with pytest.raises(UserError, match=message):
        load_classifier(bert, *overrides)


def test_tokens_of_another_model_are_refused(bert: Path, saved) -> None:
    other = saved("roberta")
    message = r"the data does not use the tokenizer of .*bert: write data/tokenizer=pretrained"
    with pytest.raises(UserError, match=message):
        PretrainedEmbedding(load_tokenizer(other).vocabulary, name_or_path=str(bert)).load_pretrained()


def test_the_path_of_a_tokenizer_file_selects_the_model_in_its_folder(bert: Path) -> None:
    assert load_classifier(bert / "tokenizer.json").encoder.output_dim == D


def test_any_encoder_may_follow_the_pretrained_embedding(bert: Path) -> None:
    classifier = load_classifier(bert, "model/encoder=bilstm")
    expected = transformers.AutoModel.from_pretrained(bert).get_input_embeddings().weight.double()
    table = classifier.embedding.table.weight
    assert torch.equal(table[2:], expected[: len(table) - 2])
    assert close(table[1], expected.mean(0), 1e-6)  # the unknown word, computed in float32
    assert table.requires_grad
    assert classifier(batch(bert, TEXTS)).shape == (3, 3)


def test_ids_that_need_no_shift_keep_their_vectors(bert: Path, tmp_path: Path) -> None:
    """The padding token of this model is `<pad>`, id 0, and its unknown token is `<unk>`, id 1."""
    model = shutil.copytree(bert, tmp_path / "mine")
    text = (model / "tokenizer.json").read_text()
    (model / "tokenizer.json").write_text(text.replace("[PAD]", "<pad>").replace("[UNK]", "<unk>"))
    expected = transformers.AutoModel.from_pretrained(model).get_input_embeddings().weight.double()
    table = load_classifier(model).embedding.table.weight
    assert torch.equal(table, expected[: len(table)])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("weights", "mine: the weights lack encoder.layer.1.output"),
        ("config.json", "mine: cannot be read as a pretrained model"),
        ("model.safetensors", "mine: cannot be read as a pretrained model"),
        ("decoder", r"the model has a decoder \(bart\)"),
    ],
)
def test_an_unsuitable_model_is_reported(bert: Path, tmp_path: Path, damage: str, message: str) -> None:
    model = shutil.copytree(bert, tmp_path / "mine")
    if damage == "weights":
        weights = load_file(model / "model.safetensors")
        remaining = {name: value for name, value in weights.items() if "layer.1.output" not in name}
        save_file(remaining, model / "model.safetensors", {"format": "pt"})
    elif damage == "decoder":
        transformers.BartConfig(d_model=D, vocab_size=13).save_pretrained(model)
    else:
        (model / damage).write_text("{")
    with pytest.raises(UserError, match=message):
        load_classifier(model)


def test_building_a_classifier_reads_no_weights(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", partial(pytest.fail, "read too early"))
    build.classifier(components(bert), load_tokenizer(bert).vocabulary, 3)


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_a_pretrained_model_is_exported(kind: str, saved, tmp_path: Path) -> None:
    path = saved(kind)
    cfg = components(path, "model/attention=bahdanau")
    vocabulary = Pretrained(str(path)).train([]).vocabulary
    model = build.classifier(cfg, vocabulary, 3)
    model.load_pretrained()
    portable = PortableModel(model, Multiclass(), len(vocabulary), cfg.data.max_length).eval()
    assert convert(portable, tmp_path / "model.onnx") <= TOLERANCE
