"""A user's own script with Lightning: a module and a Trainer without the commands."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from datasets import Dataset
from omegaconf import DictConfig
from pytorch_lightning.callbacks import (
    BackboneFinetuning,
    EarlyStopping,
    EMAWeightAveraging,
    ModelCheckpoint,
    StochasticWeightAveraging,
    WeightAveraging,
)
from pytorch_lightning.loggers import TensorBoardLogger
from pytorch_lightning.tuner import Tuner
from pytorch_lightning.utilities.model_summary import ModelSummary
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader

from heedful import load
from heedful.base.errors import UserError
from heedful.config.compose import compose
from heedful.data.source import Source
from heedful.data.tokenizer import Word
from heedful.training import build
from heedful.training.callbacks.predictions import PredictionWriter
from heedful.training.lit import LitClassifier
from tests.config.nodes import config_with
from tests.helpers import (
    SMALL,
    assert_equal,
    assert_equal_weights,
    change_card,
    evaluate,
    last_weights,
    read_csv,
    saved_predictions,
    train,
    trained,
)

EMA = "+callbacks.ema={_target_: pytorch_lightning.callbacks.EMAWeightAveraging, decay: 0.9}"
SPARSE = ("model/embedding=ngrams", "model.embedding.sparse=true")
LINEAR = ("model/branch=ngrams", "model.branch.weight=null")


def make(folder: Path, *overrides: str) -> tuple[DictConfig, Source, LitClassifier]:
    of_run = overrides if any(line.startswith("task=") for line in overrides) else ()  # whose file chooses others
    cfg = compose(f"data.cache_dir={folder / 'cache'}", *SMALL, *of_run)
    cfg = cfg if of_run else config_with(*overrides, base=cfg)
    pl.seed_everything(cfg.seed)
    data = build.datamodule(cfg)
    return cfg, data, LitClassifier.from_config(cfg, data)


def trainer(folder: Path, callbacks: Sequence[pl.Callback] = (), **options: Any) -> pl.Trainer:
    defaults = {"accelerator": "cpu", "max_epochs": 2, "logger": False, "enable_progress_bar": False}
    defaults |= {"enable_model_summary": False, "default_root_dir": folder, "log_every_n_steps": 1}
    keeps = any(isinstance(callback, ModelCheckpoint) for callback in callbacks)
    return pl.Trainer(**{**defaults, "enable_checkpointing": keeps, "callbacks": [*callbacks], **options})


def best(folder: Path, **options: Any) -> ModelCheckpoint:
    return ModelCheckpoint(folder / "checkpoints", "best", monitor="val/loss", enable_version_counter=False, **options)


def test_a_script_trains_like_the_command(tmp_path: Path) -> None:
    """This includes pretrained vectors, the branch and its weight."""
    train(tmp_path / "run", "callbacks=checkpoints", "test=false", *LINEAR)
    _, data, module = make(tmp_path, *LINEAR)
    assert module.model.embedding.tokens_with_vectors() is not None
    trainer(tmp_path).fit(module, data)
    assert_equal(last_weights(tmp_path / "run"), module.state_dict())


def test_a_script_trains_on_a_data_set_of_its_own(tmp_path: Path) -> None:
    rows = Dataset.from_dict({"text": ["so good", "very bad", "not bad", "no good"] * 11, "label": ["x", "y"] * 22})
    options: dict[str, Any] = {"tokenizer": Word(), "cache_dir": str(tmp_path / "cache"), "progress": False}
    data = Source.of({"train": rows, "valid": rows.select(range(7))}, **options)
    module = LitClassifier.from_config(compose(*SMALL), data)  # which sets the data up
    fitted = trainer(tmp_path, max_epochs=1)
    fitted.fit(module, data)
    assert str(data) == "Source: {'train': 35, 'val': 7, 'test': 9}"
    assert data.sizes["val"] == 7 and fitted.callback_metrics["val/loss"].isfinite()


def test_training_without_a_data_module_gives_the_same_weights(tmp_path: Path) -> None:
    options = (*LINEAR, "scheduler=one_cycle")
    _, data, module = make(tmp_path, *options)
    trainer(tmp_path).fit(module, data)
    _, data, other = make(tmp_path, *options)
    trainer(tmp_path).fit(other, train_dataloaders=data.train_dataloader(), val_dataloaders=data.val_dataloader())
    assert_equal(module.state_dict(), other.state_dict())


def loader(data: Source, split: str, rows: Any = None, **options: Any) -> DataLoader[Any]:
    """A loader of torch for some rows, or all, of a split."""
    builder = data.builder(split)
    chosen: Any = range(len(builder)) if rows is None else rows
    return DataLoader(chosen, batch_size=5, collate_fn=lambda numbers: builder(np.array(numbers)), **options)


def test_loaders_of_torch_train_a_module(tmp_path: Path) -> None:
    _, data, module = make(tmp_path, "scheduler=linear", *LINEAR)
    fitted = trainer(tmp_path)
    fitted.fit(module, loader(data, "train"), [loader(data, "val"), loader(data, "test")])
    assert {"val/acc", "val/loss/dataloader_idx_1"} < fitted.callback_metrics.keys()
    assert fitted.callback_metrics["val/loss"].isfinite()
    assert fitted.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.0, abs=1e-9)


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> LitClassifier:
    return make(tmp_path_factory.mktemp("untrained"))[2]


@pytest.fixture
def scored(untrained: LitClassifier, tmp_path: Path) -> tuple[Source, Callable[..., dict[str, float]]]:
    """Data, and a function that scores loaders with an untrained module."""
    data = build.datamodule(compose(f"data.cache_dir={tmp_path / 'cache'}", *SMALL))
    return data, lambda loaders: dict(trainer(tmp_path).test(untrained, loaders, verbose=False)[0])


def test_each_loader_has_scores_of_its_own(scored: tuple[Source, Callable[..., dict[str, float]]]) -> None:
    data, score = scored
    parts = [score(loader(data, split)) for split in ("val", "train")]
    assert parts[0]["test/loss"] != parts[1]["test/loss"]
    expected = parts[0] | {f"{name}/dataloader_idx_1": value for name, value in parts[1].items()}
    assert score([loader(data, split) for split in ("val", "train")]) == pytest.approx(expected)


def test_a_row_that_a_sampler_draws_again_counts_again(untrained, scored) -> None:
    data, score = scored
    rows = [3, 0, 3, 1, 3, 4, 0]
    once = {row: score(loader(data, "train", [row]))["test/loss"] for row in {*rows}}
    assert score(loader(data, "train", rows))["test/loss"] == pytest.approx(np.mean([once[row] for row in rows]))
    assert untrained.evaluated["index"].tolist() == sorted(rows)
    assert score(data.train_dataloader()) == pytest.approx(score(loader(data, "train")))


def test_only_texts_that_processes_share_are_left_out(untrained: LitClassifier) -> None:
    def shards(*indices: list[int]) -> list[int]:
        def gather(target: list[Any], own: dict[str, np.ndarray]) -> None:
            target[:] = [{"index": np.array(index)} for index in indices]

        untrained.trainer = SimpleNamespace(world_size=len(indices), is_global_zero=True)  # type: ignore[assignment]
        with patch("torch.distributed.all_gather_object", gather):
            return untrained._collect([{"index": torch.tensor(indices[0])}])["index"].tolist()

    assert shards([0, 2, 4], [1, 3, 0]) == [0, 1, 2, 3, 4]  # as torch's DistributedSampler divides five rows
    with pytest.raises(UserError, match=r"a process read an index twice.*: evaluate with one device"):
        shards([0, 2, 2], [1, 3, 0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")  # of TensorBoard's graph
def test_an_example_draws_and_summarizes_the_model(tmp_path: Path) -> None:
    _, data, module = make(tmp_path)
    batch = next(iter(data.train_dataloader()))
    for example in (batch, batch.inputs):
        module.example_input_array = example
        logger = TensorBoardLogger(tmp_path / "logs", log_graph=True)
        logger.log_graph(module)
        summary = ModelSummary(module)
        assert summary.out_sizes[0] == [len(batch.targets), 3]


@pytest.mark.parametrize("step", ["training_step", "validation_step", "predict_step"])
@pytest.mark.parametrize("batch", [(["good"], [1]), {"text": ["good"]}])
def test_a_foreign_batch_is_refused(step: str, batch: Any, untrained: LitClassifier) -> None:
    with pytest.raises(UserError, match=rf"a batch is a {type(batch).__name__}, not .*collate_fn=.* builder"):
        getattr(untrained, step)(batch, 0)


def test_training_resumes_exactly_without_a_data_module(tmp_path: Path) -> None:
    def fit(name: str, epochs: int, path: str | None = None) -> LitClassifier:
        _, data, module = make(tmp_path, "model.embedding.dropout=0.3")
        last = ModelCheckpoint(tmp_path / name, save_last=True)
        loaders = {"train_dataloaders": data.train_dataloader(), "val_dataloaders": data.val_dataloader()}
        trainer(tmp_path, [last], max_epochs=epochs).fit(module, **loaders, ckpt_path=path)
        return module

    whole = fit("whole", 3)
    fit("half", 1)
    assert_equal(whole.state_dict(), fit("resumed", 3, str(tmp_path / "half" / "last.ckpt")).state_dict())


@pytest.mark.parametrize(
    ("monitor", "rate", "epochs"),
    [
        ("val/acc", 1e-4, 4),  # the branch has all the weight, and the network improves
        ("val/loss", 0.0, 2),  # nothing improves
        ("train/calm", 1e-4, 2),  # not of predictions
    ],
)
def test_early_stopping_and_plateau_wait_for_an_unused_network(monitor, rate, epochs, tmp_path) -> None:
    class Calm(LitClassifier):
        def on_train_epoch_start(self) -> None:
            self.log("train/calm", 1.0)

        def on_validation_epoch_start(self) -> None:
            super().on_validation_epoch_start()
            self.weights = [*getattr(self, "weights", []), float(self.model.branch.weight)]

    plateau = ("scheduler=plateau", "scheduler.patience=0")
    cfg, data, _ = make(tmp_path, *LINEAR, *plateau, f"optimizer.lr={rate}")
    module = Calm.from_config(cfg, data)
    last, again = (ModelCheckpoint(tmp_path / name, save_last=True) for name in ("last", "again"))
    stop = EarlyStopping(monitor, patience=1)
    run = trainer(tmp_path, [last, stop], max_epochs=4, num_sanity_val_steps=0)
    run.fit(module, data)
    assert (run.current_epoch, set(module.weights)) == (epochs, {1.0})
    assert run.optimizers[0].param_groups[0]["lr"] == rate  # the plateau waits, too
    best, module.branch_weight.network_loss = module.branch_weight.network_loss, 0.0
    trainer(tmp_path, [again, stop], max_epochs=4).fit(module, data, ckpt_path=str(tmp_path / "last" / "last.ckpt"))
    assert 0.0 < module.branch_weight.network_loss == best <= run.callback_metrics["val/network_loss"].item()


def test_predictions_are_in_the_order_of_the_split(tmp_path: Path) -> None:
    _, data, module = make(tmp_path)
    fitted = trainer(tmp_path, [best(tmp_path)], max_epochs=1)
    fitted.fit(module, data)
    batches: Any = fitted.predict(module, data)
    columns = {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}
    assert columns["index"].tolist() == list(range(8))
    expected = load(tmp_path / "checkpoints" / "best.ckpt").predict(data.texts("test", range(8)))
    probabilities = torch.tensor([list(each.probabilities.values()) for each in expected])
    torch.testing.assert_close(columns["probabilities"], probabilities)
    assert [data.class_names[number] for number in columns["predicted"]] == [each.label for each in expected]
    assert columns["labels"].tolist() == data.tokenized("test").labels.tolist()
    result = evaluate(tmp_path / "eval", tmp_path / "checkpoints" / "best.ckpt")
    assert result["metrics"]["test/acc"]["value"] == (columns["predicted"] == columns["labels"]).float().mean()
    assert result["choices"]["encoder"] == "bilstm"


class Stop(EarlyStopping):
    """A callback of a user's own."""


@pytest.mark.parametrize("monitor", ["val/acc", "val/loss"])
def test_callbacks_follow_the_direction_of_their_metric(monitor: str, untrained: LitClassifier, tmp_path: Path) -> None:
    best = {"val/acc": "max", "val/loss": "min"}[monitor]
    followers: list[Any] = [ModelCheckpoint(tmp_path, monitor=monitor), Stop(monitor, min_delta=0.1)]
    untrained.trainer = trainer(tmp_path, followers)
    untrained.setup("fit")
    for callback, chosen in zip(
        followers, [ModelCheckpoint(monitor=monitor, mode=best), Stop(monitor, min_delta=0.1, mode=best)], strict=True
    ):
        names = ("mode", "kth_value", "best_score", "min_delta", "state_key")
        assert [getattr(callback, name, None) for name in names] == [getattr(chosen, name, None) for name in names]


@pytest.mark.parametrize(
    ("monitor", "mode", "message"),
    [
        ("val/loss", "max", "EarlyStopping.mode=max: selects the worst val/loss: write EarlyStopping.mode=min"),
        ("val_loss", "min", r"EarlyStopping: monitor=val_loss: no such metric \(did you mean val/loss\?\)"),
    ],
)
def test_a_callback_with_a_wrong_metric_or_direction_is_refused(monitor, mode, message, untrained, tmp_path) -> None:
    untrained.trainer = trainer(tmp_path, [EarlyStopping(monitor, mode=mode)])
    with pytest.raises(UserError, match=f"^{message}$"):
        untrained.setup("fit")


class Steps(ReduceLROnPlateau):
    """Keeps the values with which it was stepped."""

    def step(self, metrics: Any, epoch: None = None) -> None:
        vars(self).setdefault("values", []).append(float(metrics))
        super().step(metrics)


@pytest.mark.parametrize(
    ("monitor", "config", "epochs"),
    [
        ("val/acc", {"frequency": 2}, [2, 4]),
        ("train/loss", {}, [1, 2, 3, 4]),
        ("val/acc", {"interval": "step", "frequency": 4}, [1, 2, 3, 4]),  # with the last of four steps
    ],
)
def test_a_plateau_follows_its_monitor_and_frequency(monitor, config, epochs, tmp_path) -> None:
    class Mine(LitClassifier):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
            mode = "max" if monitor == "val/acc" else "min"
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": Steps(optimizer, mode), "monitor": monitor} | config,
            }

    class Logged(pl.Callback):
        values: ClassVar[list[float]] = []

        def on_train_epoch_end(self, trainer: pl.Trainer, *args: Any) -> None:
            self.values.append(trainer.callback_metrics[monitor].item())

    cfg = compose(f"data.cache_dir={tmp_path / 'cache'}", *SMALL, "data.batch_size=7")
    data = build.datamodule(cfg)
    fitted = trainer(tmp_path, [Logged()], max_epochs=4)
    fitted.fit(Mine.from_config(cfg, data), data)
    steps: Any = fitted.lr_scheduler_configs[0].scheduler
    assert steps.values == [Logged.values[epoch - 1] for epoch in epochs]


def test_a_plateau_that_selects_the_worst_value_is_refused(tmp_path: Path) -> None:
    class Mine(LitClassifier):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters())
            return {"optimizer": optimizer, "lr_scheduler": ReduceLROnPlateau(optimizer), "monitor": "val/acc"}

    cfg, data, _ = make(tmp_path)
    with pytest.raises(UserError, match=r"^ReduceLROnPlateau.mode=min: selects the worst val/acc"):
        trainer(tmp_path).fit(Mine.from_config(cfg, data), data)


@pytest.mark.parametrize("weights_only", [True, False])
def test_the_best_checkpoint_is_evaluated_by_the_same_trainer(weights_only: bool, tmp_path: Path) -> None:
    _, data, module = make(tmp_path, "optimizer.lr=0.1")
    fitted = trainer(tmp_path, [callback := best(tmp_path, save_weights_only=weights_only)], max_epochs=5)
    fitted.fit(module, data)
    (scores,) = fitted.validate(module, data, ckpt_path="best", verbose=False)
    assert callback.best_model_score is not None
    assert scores["val/loss"] == pytest.approx(callback.best_model_score.item())
    assert "test/acc" in fitted.test(module, data, ckpt_path="best", verbose=False)[0]
    if weights_only:
        with pytest.raises(KeyError, match="checkpoint contains only the model"):
            trainer(tmp_path, max_epochs=9).fit(module, data, ckpt_path=callback.best_model_path)


@pytest.mark.parametrize("name", ["last.ckpt", ""])  # a folder has the best one
def test_a_loaded_module_is_trained_further(name: str, finished: tuple[Path, Any], tmp_path: Path) -> None:
    folder = finished[0]
    module = LitClassifier.load_from_checkpoint(folder / "checkpoints" / name if name else folder, strict=False)
    assert module.hparams["optimizer"]["lr"] == module.lr == 0.001
    data = build.datamodule(compose(f"data.cache_dir={tmp_path / 'cache'}"), module.card)
    if name != "last.ckpt":
        scores = trainer(tmp_path).validate(module, data, verbose=False)[0]
        predictions = saved_predictions(folder, "val")
        accuracy = (predictions.probabilities.argmax(1) == predictions.labels).mean()
        assert scores["val/acc"] == pytest.approx(accuracy)
    module.lr = 0.01
    fitted = trainer(tmp_path, [best(tmp_path)], gradient_clip_val=1.0, precision="bf16-mixed")
    fitted.fit(module, data)
    assert fitted.optimizers[0].param_groups[0]["lr"] == 0.01
    assert LitClassifier.load_from_checkpoint(tmp_path / "checkpoints" / "best.ckpt").lr == 0.01


@pytest.mark.parametrize(
    ("key", "target"),
    [("optimizer", "pathlib.Path"), ("optimizer", "mine.Optimizer"), ("scheduler", "torch.optim.Adam")],
)
def test_a_checkpoint_chooses_neither_foreign_classes_nor_trust(key: str, target: str, checkpoint, tmp_path) -> None:
    changed = change_card(checkpoint, f"config.{key}._target_", target, tmp_path / "changed.ckpt")
    change_card(changed, "config.extras.trusted_modules", ["mine", "pathlib"])
    with pytest.raises(UserError, match=f"changed.ckpt: (?s:.)*{key}._target_={target}   "):
        LitClassifier.load_from_checkpoint(changed)


def test_a_checkpoint_has_its_configuration_once(checkpoint: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    assert not [key for key in content if "hparams" in key or "hyper" in key]


@pytest.mark.parametrize(
    ("overrides", "options", "message"),
    [
        ((), {"precision": "16-true"}, r"trainer\.precision=16-true: optimizer\.eps=1e-08 .*: use 16-mixed or bf16"),
        ((*SPARSE, "optimizer=adagrad"), {"gradient_clip_val": 1.0}, r"trainer\.gradient_clip_val: row-sparse"),
        (LINEAR, {"limit_val_batches": 0}, r"model\.branch\.weight: .* set model\.branch\.weight=0\.5, or give"),
    ],
)
def test_the_real_trainer_is_checked(overrides: Sequence[str], options: dict[str, Any], message: str, tmp_path) -> None:
    _, data, module = make(tmp_path, *overrides)
    with pytest.raises(UserError, match=f"^{message}"):
        trainer(tmp_path, **options).fit(module, data)


class Scaled(LitClassifier):
    """A module with an argument of its own."""

    def __init__(self, *arguments: Any, factor: float = 1.0) -> None:
        super().__init__(*arguments)
        self.factor = factor


def test_the_arguments_of_a_subclass_are_passed_on(checkpoint: Path, tmp_path: Path) -> None:
    cfg, data, _ = make(tmp_path)
    assert Scaled.from_config(cfg, data, factor=3.0).factor == 3.0
    assert Scaled.load_from_checkpoint(checkpoint, weights_only=False, factor=2.0).factor == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hparams_file": "x.yaml"}, "got an unexpected keyword argument 'hparams_file': the checkpoint contains"),
        ({"map_location": {"cuda:0": "cpu"}}, r"map_location=\{.*\}: name a device, such as 'cpu'"),
    ],
)
def test_other_options_of_lightning_are_refused(options: dict[str, Any], message: str, checkpoint: Path) -> None:
    with pytest.raises(UserError, match=f"^load_from_checkpoint: {message}"):
        LitClassifier.load_from_checkpoint(checkpoint, **options)


def test_the_tuner_sets_the_learning_rate_and_the_batch_size(tmp_path: Path) -> None:
    _, data, module = make(tmp_path)
    finder = Tuner(trainer(tmp_path, max_epochs=15)).lr_find(module, data, num_training=30, max_lr=0.1)
    assert finder is not None and module.lr == finder.suggestion() == module.card.config["optimizer"]["lr"] != 0.001
    assert Tuner(trainer(tmp_path)).scale_batch_size(module, data, init_val=3, max_trials=2) == 6
    fitted = trainer(tmp_path, max_epochs=1)
    fitted.fit(module, data)
    assert fitted.optimizers[0].param_groups[0]["lr"] == module.lr
    assert fitted.global_step == 5  # 28 texts in batches of 6


def test_the_average_of_the_weights_is_validated_saved_and_tested_by_the_command(tmp_path: Path) -> None:
    options = ("optimizer.lr=0.3", "data.batch_size=4", "callbacks=checkpoints", EMA, "trainer.max_epochs=5", *LINEAR)
    result = train(tmp_path / "run", *options)
    losses = [float(row["val/loss"]) for row in read_csv(tmp_path / "run" / "csv" / "metrics.csv") if row["val/loss"]]
    assert min(losses) < losses[-1]
    assert result["best"]["value"] == min(losses)
    predictions = saved_predictions(tmp_path / "run", "val")
    likelihoods = predictions.probabilities[np.arange(len(predictions.labels)), predictions.labels]
    assert -np.log(likelihoods).mean() == pytest.approx(min(losses), rel=1e-5)
    trained(tmp_path / "half", *options, "trainer.max_epochs=2")
    train(tmp_path / "half", *options, "test=false", f"ckpt_path={tmp_path / 'half' / 'checkpoints' / 'last.ckpt'}")
    assert_equal_weights(tmp_path / "run", tmp_path / "half")


@pytest.mark.parametrize("averaging", [WeightAveraging(), WeightAveraging(use_buffers=False), EMAWeightAveraging()])
def test_averages_leave_flags_and_codes_unchanged(averaging: WeightAveraging, tmp_path: Path) -> None:
    _, data, module = make(tmp_path, *LINEAR)
    before = {name: value.clone() for name, value in module.model.named_buffers() if name != "branch.weight"}
    trainer(tmp_path, [averaging]).fit(module, data)
    assert {value.dtype for value in before.values()} == {torch.bool, torch.int32, torch.float32}
    for name, value in before.items():
        torch.testing.assert_close(module.model.get_buffer(name), value, msg=name)


class States(pl.Callback):
    """Keeps the bias of the head at the start of each epoch, and the number of parameters that the epoch trained."""

    def __init__(self) -> None:
        self.biases: list[torch.Tensor] = []
        self.sizes: list[int] = []

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self.biases.append(pl_module.model.head.linear.bias.detach().clone())

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.sizes.append(sum(len(group["params"]) for group in trainer.optimizers[0].param_groups))


def test_stochastic_weight_averaging_leaves_the_mean_of_the_last_epochs(tmp_path: Path) -> None:
    _, data, module = make(tmp_path)
    states = States()
    trainer(tmp_path, [StochasticWeightAveraging(0.01, swa_epoch_start=2), states], max_epochs=4).fit(module, data)
    head: Any = module.model.head
    torch.testing.assert_close(head.linear.bias.detach(), torch.stack(states.biases[1:]).mean(0))


def test_the_backbone_is_trained_from_an_epoch_on(tmp_path: Path) -> None:
    _, data, module = make(tmp_path)
    states = States()
    trainer(tmp_path, [BackboneFinetuning(1), states]).fit(module, data)
    backbone = len(list(module.backbone.parameters()))
    total = len(list(module.model.parameters()))
    assert states.sizes == [total - backbone, total] and backbone == 9


def test_a_callback_of_the_commands_needs_the_data_module(tmp_path: Path) -> None:
    _, data, module = make(tmp_path)
    with pytest.raises(UserError, match="a callback needs the texts: give the Trainer the data module"):
        trainer(tmp_path, [PredictionWriter(tmp_path)]).validate(module, data.val_dataloader(), verbose=False)
