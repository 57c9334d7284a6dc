"""Tiny models of several kinds, saved as the hub saves them, held against Hugging Face's own run of each text."""

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import load_file, save_file
from tokenizers import models, pre_tokenizers, processors
from torch import Tensor

from src import build
from src.checkpoint import Card
from src.data.codec import Codec
from src.data.padded_batches import Truncation
from src.data.tokenizer import Pretrained
from src.data.trained_tokenizer import Tokenizer
from src.errors import UserError
from src.models import pretrained
from src.models.classifier import Classifier, mean_weights
from src.models.embedding.pretrained import PretrainedEmbedding
from src.models.encoder.pretrained import PretrainedEncoder
from src.models.types import Encoded
from src.portable.onnx_model import TOLERANCE, PortableModel, convert
from tests.helpers import CONF, one_batch, small_config
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
    "roberta": {**SIZES, "max_position_embeddings": POSITIONS + 2},  # its positions start behind its padding id, 1
    "albert": {**SIZES, "pad_token_id": 0, "embedding_size": 5, "max_position_embeddings": POSITIONS},
    "distilbert": {"n_layers": 2, "n_heads": 3, "dim": D, "hidden_dim": 13, "max_position_embeddings": POSITIONS},
    "modernbert": {**SIZES, **IDS, "max_position_embeddings": POSITIONS, "local_attention": 4},
}
TEXTS = ["a good film", "bad", "the film so not goodly so bad"]


def save(folder: Path, kind: str = "bert", around: bool = True) -> Path:
    """A model with random weights and its tokenizer; `around` puts special tokens around a text."""
    special = ROBERTA if kind == "roberta" else BERT
    vocabulary = {token: i for i, token in enumerate(special + WORDS)}
    config = transformers.AutoConfig.for_model(kind, vocab_size=len(vocabulary) + 1, **KINDS[kind])
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config)
    for parameter in model.parameters():  # norms and biases start alike: make every weight tell
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=special[3 if kind == "roberta" else 1]))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if around:
        first, last = ends = ("<s>", "</s>") if kind == "roberta" else ("[CLS]", "[SEP]")
        ids = [(token, vocabulary[token]) for token in ends]
        backend.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ids)
    backend.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "bert")


def config(model: Path, *overrides: str, tmp: Path | None = None) -> DictConfig:
    chosen = ["data/tokenizer=pretrained", "model/embedding=pretrained", "model/encoder=pretrained"]
    named = [f"data.tokenizer.name_or_path={model}", "data.max_length=20"]
    return small_config((tmp or Path("unused")) / "run", [*chosen, *named, *overrides])


def classifier(model: Path, *overrides: str, double: bool = True) -> Classifier:
    cfg = config(model, *overrides)
    whole = build.classifier(cfg, own(model).vocabulary, 3)
    whole.load_pretrained()
    return whole.double() if double else whole


def own(model: Path) -> Tokenizer:
    return Pretrained(str(model)).train([])


def batch(model: Path, texts: list[str], width: int = 0) -> tuple[Tensor, Tensor]:
    """Tokens and mask, padded to `width` at the least."""
    tokens, mask, *_ = one_batch(Codec(own(model), Truncation(20, "first"), ("x",)), texts)
    more = (0, max(0, width - tokens.shape[1]))
    return torch.nn.functional.pad(tokens, more), torch.nn.functional.pad(mask, more)


def encode(model: Classifier, tokens: torch.Tensor, mask: torch.Tensor) -> Encoded:
    return model.encode(model.embed(tokens, mask), mask)


@pytest.mark.parametrize("around", [True, False], ids=["around", "bare"])
@pytest.mark.parametrize("kind", KINDS)
def test_states_are_those_of_the_whole_model(kind: str, around: bool, tmp_path: Path) -> None:
    model = save(tmp_path / kind, kind, around)
    ours = classifier(model).eval()
    theirs = transformers.AutoModel.from_pretrained(model).double().eval()
    backend = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    with torch.no_grad():
        encoded = encode(ours, *batch(model, [*TEXTS, ""], width=11))
        for row, text in enumerate(TEXTS):
            ids = torch.tensor([backend.encode(text).ids])
            states = theirs(input_ids=ids).last_hidden_state[0]  # (L + special)×D
            inner = states[1:-1] if around else states
            assert close(encoded.states[row, : len(inner)], inner)
            assert (encoded.states[row, len(inner) :] == 0).all()
            assert encoded.mask[row].sum() == len(inner)
            assert close(encoded.summary[row], states[0] if around else states.mean(0))
    assert torch.isfinite(encoded.summary).all(), "an empty text gave NaN"


@pytest.mark.parametrize("pooling", ["first", "mean", "last"])
@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_the_flow_holds_its_promises(kind: str, pooling: str, tmp_path: Path) -> None:
    """What tests/models/test_composition.py asks of encoders that need no model of their own."""
    model = save(tmp_path / kind, kind)
    whole = classifier(model, "model/attention=elementwise", f"model/pooling={pooling}").eval()
    tokens, mask = batch(model, [*TEXTS, ""], width=13)

    logits = whole(tokens, mask)
    encoded = encode(whole, tokens, mask)
    (logits.square().sum() + encoded.states.square().sum() + encoded.summary.square().sum()).backward()
    for name, parameter in whole.encoder.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name

    with torch.no_grad():
        alone = torch.cat([whole(*batch(model, [text])) for text in [*TEXTS, ""]])
        assert torch.allclose(logits, alone, rtol=0, atol=1e-10)
        weights = whole.weights(tokens, mask)[:-1]  # N×H×T×L
    assert (weights.masked_select(~mask[:-1, None, None].expand_as(weights)) == 0).all()
    assert torch.allclose(mean_weights(weights).sum(1), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-10)


def test_a_frozen_model_learns_nothing_and_drops_nothing(bert: Path) -> None:
    whole = classifier(bert, "model.encoder.freeze=true", "model/attention=elementwise").train()
    tokens, mask = batch(bert, TEXTS)
    first, second = encode(whole, tokens, mask), encode(whole, tokens, mask)
    assert torch.equal(first.states, second.states)
    whole(tokens, mask).sum().backward()
    learning = {name for name, part in whole.named_children() for p in part.parameters() if p.requires_grad}
    assert learning == {"attention", "head"}


def test_a_fine_tuned_model_drops_features(bert: Path) -> None:
    whole = classifier(bert).train()
    tokens, mask = batch(bert, TEXTS)
    assert not torch.equal(encode(whole, tokens, mask).states, encode(whole, tokens, mask).states)


def test_each_half_has_its_own_learning_rate(bert: Path) -> None:
    rates = ["optimizer.lr=0.1", "+param_groups.encoder.lr=0.01", "+param_groups.embedding.lr=0.001"]
    whole = classifier(bert, *rates)
    groups = build.optimizer(config(bert, *rates), whole).param_groups
    rate = {parameter: group["lr"] for group in groups for parameter in group["params"]}
    found = {(name, rate[p]) for name, part in whole.named_children() for p in part.parameters()}
    assert found == {("embedding", 0.001), ("encoder", 0.01), ("attention", 0.1), ("head", 0.1)}


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_bfloat16_autocast_is_close(kind: str, tmp_path: Path) -> None:
    model = save(tmp_path / kind, kind)
    whole = classifier(model, "model/attention=elementwise", double=False).eval()
    tokens, mask = batch(model, TEXTS)
    with torch.autocast("cpu", torch.bfloat16):
        low = whole(tokens, mask)
    low.float().square().sum().backward()
    assert torch.allclose(low.float(), whole(tokens, mask), rtol=0, atol=0.1)


def test_a_run_and_its_checkpoint_need_the_model_once(bert: Path, tmp_path: Path) -> None:
    from src import eval as evaluate
    from src import train

    model = shutil.copytree(bert, tmp_path / "mine")
    quiet = ["logger=csv", "~callbacks.progress", "trainer.max_epochs=1"]
    train.main.__wrapped__(config(model, *quiet, "model/attention=elementwise", tmp=tmp_path))  # type: ignore[attr-defined]
    shutil.rmtree(model)

    checkpoint = tmp_path / "run" / "checkpoints" / "best.ckpt"
    with initialize_config_dir(CONF, version_base="1.3"):
        cfg = compose("eval", [f"ckpt_path={checkpoint}", f"paths.output_dir={tmp_path / 'again'}", "logger=csv"])
    evaluate.main.__wrapped__(cfg)  # type: ignore[attr-defined]
    before, after = (np.load(tmp_path / run / "predictions" / "test.npz") for run in ("run", "again"))
    assert np.array_equal(before["probabilities"], after["probabilities"])


def test_what_the_parts_found_travels_in_plain_containers(bert: Path) -> None:
    cfg = config(bert)
    codec = Codec(own(bert), Truncation(20, "first"), ("x", "y", "z"))
    card = Card(OmegaConf.to_container(cfg, resolve=True), codec, [3, 3, 3])  # type: ignore[arg-type]
    held = build.module(cfg, card).card["config"]["model"]
    assert held["embedding"]["dim"] == D
    description = held["encoder"]["description"]
    assert (description["prefix"], description["suffix"]) == ([2], [3])
    assert description["config"]["hidden_size"] == D
    assert "_name_or_path" not in description["config"]


def test_a_description_cannot_choose_code(bert: Path) -> None:
    description = pretrained.describe(str(bert))
    hostile = {"attn_implementation": "someone/kernel", "auto_map": {"AutoModel": "evil--code.Model"}}
    model = pretrained.build_model({**description, "config": {**description["config"], **hostile}})
    assert model.config._attn_implementation in ("sdpa", "eager")
    assert not hasattr(model.config, "auto_map")


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_too_long_for_the_positions_is_refused(kind: str, tmp_path: Path) -> None:
    model = save(tmp_path / kind, kind)
    fits = classifier(model, f"data.max_length={POSITIONS - 2}").eval()
    tokens, mask = torch.full((1, POSITIONS - 2), 7), torch.ones(1, POSITIONS - 2, dtype=torch.bool)
    assert fits(tokens, mask).isfinite().all()
    with pytest.raises(
        UserError, match=r"model.encoder: max_length=22: the model reads at most 23 .* data.max_length=21"
    ):
        classifier(model, f"data.max_length={POSITIONS - 1}")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["model/embedding=glove"],
            "reads vectors of 12 features, but the input has 50: use model/embedding=pretrained",
        ),
        (["model/embedding=learned", "model.embedding.dim=12"], "use model/embedding=pretrained with the same"),
        (["model/position=index"], "has 13: use model/embedding=pretrained and model/position=none"),
        (["model.encoder.name_or_path=null"], "name_or_path=null: no pretrained model is selected"),
        (["model.embedding.name_or_path=null"], "name_or_path=null: no pretrained model is selected"),
    ],
)
def test_impossible_combinations_say_what_to_write(bert: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        classifier(bert, *overrides)


def test_another_tokenizer_says_what_to_write(tmp_path: Path) -> None:
    """Its options have no model's name for the two parts to take."""
    cfg = small_config(tmp_path / "run", ["model/embedding=pretrained", "model/encoder=pretrained"])
    with pytest.raises(UserError, match=r"write data/tokenizer=pretrained data.tokenizer.name_or_path=…"):
        build.classifier(cfg, ("<pad>", "<unk>", "word"), 3)


def test_the_tokens_must_be_the_models(bert: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "other", "roberta")
    with pytest.raises(UserError, match=r"the tokens are not those of .*bert: write data/tokenizer=pretrained"):
        PretrainedEmbedding(own(other).vocabulary, name_or_path=str(bert)).load_pretrained()


def test_a_tokenizer_file_names_its_models_folder(bert: Path) -> None:
    assert classifier(bert / "tokenizer.json").encoder.output_dim == D


def test_any_encoder_may_read_the_word_vectors(bert: Path) -> None:
    whole = classifier(bert, "model/encoder=bilstm")
    theirs = transformers.AutoModel.from_pretrained(bert).get_input_embeddings().weight.double()
    table = whole.embedding.table.weight
    assert torch.equal(table[2:], theirs[: len(table) - 2])
    assert close(table[1], theirs.mean(0), 1e-6)  # unknown: in float32 until here
    assert table.requires_grad
    assert whole(*batch(bert, TEXTS)).shape == (3, 3)


def test_ids_that_need_no_shift_keep_their_vectors(bert: Path, tmp_path: Path) -> None:
    """A model that itself pads with `<pad>`, 0, and knows not `<unk>`, 1."""
    model = shutil.copytree(bert, tmp_path / "mine")
    text = (model / "tokenizer.json").read_text()
    (model / "tokenizer.json").write_text(text.replace("[PAD]", "<pad>").replace("[UNK]", "<unk>"))
    theirs = transformers.AutoModel.from_pretrained(model).get_input_embeddings().weight.double()
    table = classifier(model).embedding.table.weight
    assert torch.equal(table, theirs[: len(table)])


def test_missing_weights_are_named(bert: Path, tmp_path: Path) -> None:
    model = shutil.copytree(bert, tmp_path / "mine")
    weights = load_file(model / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layer.1.output" not in name}
    save_file(kept, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"mine: the weights lack encoder.layer.1.output"):
        classifier(model)


@pytest.mark.parametrize(("name", "content"), [("config.json", ""), ("model.safetensors", "{")])
def test_a_broken_model_is_named(bert: Path, tmp_path: Path, name: str, content: str) -> None:
    model = shutil.copytree(bert, tmp_path / "mine")
    (model / name).write_text(content)
    with pytest.raises(UserError, match="mine: cannot be read as a pretrained model"):
        classifier(model)


def test_a_decoder_is_refused(bert: Path, tmp_path: Path) -> None:
    model = shutil.copytree(bert, tmp_path / "mine")
    transformers.BartConfig(d_model=D, vocab_size=13).save_pretrained(model)
    with pytest.raises(UserError, match=r"has a decoder \(bart\)"):
        classifier(model)


def test_without_transformers_the_advice_is_to_install_it(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r"pip install -c constraints\.txt '\.\[pretrained\]'"):
        PretrainedEncoder(D, name_or_path=str(bert))


def test_no_weights_are_read_before_they_are_asked_for(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", partial(pytest.fail, "read too early"))
    build.classifier(config(bert), own(bert).vocabulary, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pretrained_model_is_exported(kind: str, tmp_path: Path) -> None:
    path = save(tmp_path / kind, kind)
    cfg = config(path, "model/attention=bahdanau")
    vocabulary = Pretrained(str(path)).train([]).vocabulary
    loss = build.make(cfg, "loss", [3, 3, 3])
    model = build.classifier(cfg, vocabulary, loss.num_logits)
    model.load_pretrained()
    portable = PortableModel(model, loss, len(vocabulary), cfg.data.max_length).eval()
    assert convert(portable, tmp_path / "model.onnx") <= TOLERANCE
