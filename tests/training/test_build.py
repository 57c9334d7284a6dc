"""Objects built from a configuration: components, optimizers, schedulers and callbacks, and runs without them."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
from omegaconf import OmegaConf
from torch.optim.lr_scheduler import LinearLR, OneCycleLR, ReduceLROnPlateau

from heedful.base.errors import UserError
from heedful.base.optional_packages import MissingExtra
from heedful.training import build
from heedful.training.build import prefix_errors
from tests.config.nodes import config_with
from tests.helpers import SMALL, read_csv, run_config, small_config, train

VOCABULARY = ("<pad>", "<unk>", "a", "good", "film")


def build_model(*overrides: str) -> tuple[Any, Any]:
    cfg = config_with(*overrides)
    return cfg, build.classifier(cfg, VOCABULARY, num_logits=3)


def test_a_missing_package_has_one_remedy() -> None:
    with (
        pytest.raises(UserError, match=r"^logger\.mlflow: mlflow is missing: pip install heedful$"),
        prefix_errors("logger.mlflow"),
    ):
        raise MissingExtra("mlflow is missing: pip install heedful")


def test_an_error_of_the_library_of_a_logger_is_one_message() -> None:
    error = type("MlflowException", (Exception,), {"__module__": "mlflow.exceptions"})
    for key, expected in (("logger.mlflow", UserError), ("loss", error)):
        with pytest.raises(expected, match="the store is refused"), prefix_errors(key):
            raise error("the store is refused\nand more")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model/attention=multi_head", "model.attention.heads=7"], r"model\.attention: heads=7 must be a positive"),
        (["model/position=rotary"], r"model\.position: "),
        (["model.encoder.hidden_dim=10000000000"], r"model\.encoder: needs more memory than this machine has"),
    ],
)
def test_an_invalid_option_is_reported_with_its_path(overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=f"^{message}"):
        build_model(*overrides)


def test_a_missing_gpu_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    message = r"^trainer.accelerator=gpu: torch finds no GPU on this machine; choose trainer=cpu$"
    with pytest.raises(UserError, match=message):
        build.trainer(small_config(tmp_path, ["trainer.accelerator=gpu"]))


TWICE = [f"+callbacks.{name}._target_=pytorch_lightning.callbacks.ModelCheckpoint" for name in ("a", "b")]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["trainer.precision=transformer-engine"], r".*; install this package, or choose another option"),
        (TWICE, "Found more than one stateful callback of type"),
    ],
)
def test_a_trainer_that_cannot_be_built_is_reported_before_the_data_are_read(overrides, message, tmp_path) -> None:
    with pytest.raises(UserError, match=f"^trainer: {message}"):
        train(tmp_path / "run", *overrides)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(UserError, match=r"^trainer: `devices` .* should be an int > 0"), prefix_errors("trainer"):
        pl.Trainer(accelerator="cpu", devices=[0])


@pytest.mark.parametrize(
    ("accelerator", "cell", "has_gpu", "has_bf16", "precision"),
    [
        ("cpu", "lstm", True, True, "bf16-mixed"),
        ("cpu", "lstm", False, False, "32-true"),
        ("cpu", "gru", False, True, "32-true"),
        ("gpu", "gru", True, True, "bf16-mixed"),
        ("gpu", "lstm", True, False, "16-mixed"),
        ("auto", None, False, True, "32-true"),
    ],
)
def test_null_is_the_precision_that_the_processor_has(
    accelerator: str, cell: str, has_gpu: bool, has_bf16: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.training.build.has_lstm", lambda dtype: has_bf16)
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda including_emulation: has_bf16)
    cfg = OmegaConf.create({"trainer": {"accelerator": accelerator}, "model": {"encoder": {"cell": cell}}})
    assert build.fast_precision(cfg) == precision


def test_a_missing_component_is_reported() -> None:
    cfg = small_config(Path("unused"))
    OmegaConf.set_struct(cfg, False)
    del cfg.model["head"]
    with pytest.raises(UserError, match=r"^model\.head: is required: choose one with model/head=…$"):
        build.classifier(cfg, VOCABULARY, num_logits=3)


def test_a_validation_interval_longer_than_an_epoch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^trainer: `val_check_interval` \(1000\) must be less"):
        train(tmp_path / "run", "+trainer.val_check_interval=1000")


@pytest.mark.parametrize("override", ["param_groups=null", "+param_groups.head=null"])
def test_null_creates_no_separate_parameter_group(override: str) -> None:
    (group,) = build.optimizer(*build_model("optimizer.lr=0.5", override)).param_groups
    assert group["lr"] == 0.5


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["optimizer=adam"], r"optimizer: Adam does not support row-sparse gradients; choose optimizer=adagrad or set"),
        (["optimizer=sgd", "optimizer.weight_decay=0.1"], r"weight_decay: row-sparse gradients do not support it"),
    ],
)
def test_options_that_do_not_support_sparse_gradients_are_refused(overrides: list[str], message: str) -> None:
    cfg, model = build_model("model/embedding=ngrams", "model.embedding.sparse=true", *overrides)
    with pytest.raises(UserError, match=f"^{message}"):
        build.optimizers(cfg, model, build.trainer(cfg))


def test_attention_over_ngrams_trains_with_sparse_gradients(tmp_path: Path) -> None:
    components = ["model/embedding=ngrams", "model/attention=learned_query"]
    options = ["model.embedding.sparse=true", "model.embedding.buckets=997", "optimizer=adagrad", "scheduler=linear"]
    result = train(tmp_path / "run", *components, *options)
    assert result["metrics"]["test/acc"]["n"] == 8
    rows = read_csv(tmp_path / "run" / "gradients.csv")
    norms = [float(row["norm"]) for row in rows if row["part"] == "embedding"]
    assert norms and min(norms) > 0


def test_dense_components_beside_sparse_gradients_may_have_a_weight_decay() -> None:
    sparse = ["model/embedding=ngrams", "model.embedding.sparse=true", "optimizer=adagrad"]
    cfg, model = build_model(*sparse, "+param_groups.encoder.weight_decay=0.01")
    assert 0.01 in [group["weight_decay"] for group in build.optimizer(cfg, model).param_groups]


def test_a_scheduler_by_steps_needs_their_number() -> None:
    cfg, model = build_model("scheduler=linear")
    with pytest.raises(UserError, match=r"^scheduler: needs the number of steps: set trainer\.max_epochs or"):
        build.scheduler(cfg, build.optimizer(cfg, model), steps=-1)


@pytest.mark.parametrize(
    ("name", "kind", "interval", "steps"),
    [
        ("plateau", ReduceLROnPlateau, "epoch", {}),
        ("one_cycle", OneCycleLR, "step", {"total_steps": 13}),
        ("linear", LinearLR, "step", {"total_iters": 13}),
    ],
)
def test_schedulers_have_the_correct_interval_and_steps(name, kind, interval, steps) -> None:
    cfg, model = build_model(f"scheduler={name}")
    scheduler: Any = build.scheduler(cfg, build.optimizer(cfg, model), steps=13)
    assert isinstance(scheduler["scheduler"], kind)
    assert scheduler["interval"] == interval
    assert vars(scheduler["scheduler"]).items() >= steps.items()


def test_a_run_without_loggers_and_callbacks_is_tested(tmp_path: Path) -> None:
    result = train(tmp_path / "run", "logger=none", "callbacks=none", draws=True)
    assert result["metrics"]["test/acc"]["n"] == 8
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {".hydra", "config.yaml", "result.json", "predictions", "pictures", "page.html"}


@pytest.mark.filterwarnings("ignore:No positive samples in targets")  # debug modes show all warnings
@pytest.mark.parametrize("mode", ["fdr", "limit", "profiler"])  # which contain the mode `default`
def test_each_debug_mode_completes(mode: str, tmp_path: Path) -> None:
    result = train(tmp_path / "run", f"debug={mode}")
    assert result["task"] == "debug"
    assert result["status"] == "completed"


@pytest.mark.filterwarnings("ignore:No positive samples in targets")
def test_the_overfitting_mode_reaches_perfect_training_accuracy(tmp_path, monkeypatch) -> None:
    trainers, make = list[pl.Trainer](), build.trainer
    monkeypatch.setattr(build, "trainer", lambda *arguments: trainers.append(make(*arguments)) or trainers[-1])  # type: ignore[func-returns-value]
    lines = [*SMALL, "debug=overfit", "test=false", "optimizer.lr=0.03", "trainer.detect_anomaly=false"]
    assert run_config(small_config(tmp_path / "run", lines))["status"] == "completed"
    assert trainers[0].current_epoch == 20 and trainers[0].callback_metrics["train/acc"] == 1


@pytest.mark.parametrize(("precision", "fused"), [("32-true", True), ("bf16-mixed", False)])
def test_optimizers_are_fused_if_gradients_can_be_clipped(precision: str, fused: bool, tmp_path: Path) -> None:
    options = ["optimizer=adamw", "trainer.gradient_clip_val=0.5", f"trainer.precision={precision}"]
    cfg, model = build_model(*options)
    assert build.optimizers(cfg, model, build.trainer(cfg))["optimizer"].defaults["fused"] is fused
    assert train(tmp_path / "run", *options)["status"] == "completed"


def test_null_removes_a_callback_or_a_logger(tmp_path: Path) -> None:
    callbacks = build.trainer(small_config(tmp_path, ["callbacks.progress=null"])).callbacks  # type: ignore[attr-defined]
    names = {type(callback).__name__ for callback in callbacks}
    assert "EarlyStopping" in names and not any("Progress" in name for name in names)
    assert build.make_all(small_config(tmp_path, ["logger=csv", "logger.csv=null"]), "logger") == []


def test_lightning_adds_no_callbacks_or_loggers() -> None:
    """By default, Lightning would add a progress bar, a model summary and a checkpoint callback."""
    trainer = build.trainer(config_with("callbacks=early_stopping", "logger=none"))
    names = {type(callback).__name__ for callback in trainer.callbacks}  # type: ignore[attr-defined]
    assert "EarlyStopping" in names
    assert not {"RichProgressBar", "TQDMProgressBar", "ModelSummary", "ModelCheckpoint"} & names
    assert not trainer.loggers
