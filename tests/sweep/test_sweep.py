"""The twenty models of the report, and a sweep of real runs."""

import json
from pathlib import Path

import pytest
from omegaconf import DictConfig

from heedful.config.compose import without_hydra
from heedful.config.schema import validate_config
from tests.data.data_files import write_parquet
from tests.helpers import repository, run
from tests.models.combinations import load_yaml
from tests.training.loggers.records import read_records, read_summary

ENCODERS = ("rnn", "lstm", "birnn", "bilstm")
ATTENTIONS = ("none", "bahdanau", "luong_dot", "luong_general", "luong_concat")


def compose(*overrides: str) -> DictConfig:
    return repository("train").compose([*overrides, "paths.output_dir=unused"])


def test_the_report_has_twenty_variants() -> None:
    """The first and the last variant are composed."""
    params = compose("experiment=twenty_variants").hydra.sweeper.params
    choices = [[(key, choice) for choice in str(params[key]).split(",")] for key in params]
    assert list(map(set, choices)) == [
        {("model/encoder", encoder) for encoder in ENCODERS},
        {("model/attention", attention) for attention in ATTENTIONS},
    ]
    for names, group in ((ENCODERS, "encoder"), (ATTENTIONS, "attention")):
        assert len({str(load_yaml(group, name)) for name in names}) == len(names)
    for number in (0, -1):
        lines = ["=".join(group[number]) for group in choices]
        cfg = without_hydra(compose("experiment=twenty_variants", *lines))
        validate_config(cfg)
        assert cfg.data.name == "stanfordnlp/imdb"
        assert (cfg.data.max_length, cfg.data.batch_size) == (500, 32)
        assert (cfg.model.embedding.dim, cfg.model.encoder.hidden_dim) == (100, 128)
        assert (cfg.optimizer._target_, cfg.optimizer.lr) == ("torch.optim.Adam", 0.001)
        assert cfg.trainer.max_epochs == 5
        assert cfg.loss._target_.endswith("BinaryCrossEntropy")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of two runs of a sweep, one for each variant."""
    folder = tmp_path_factory.mktemp("sweep")
    for split, rows in (("train", 40), ("test", 10)):
        texts = [f"film {i} was {'good' if i % 2 else 'bad'}" for i in range(rows)]
        write_parquet(folder / "imdb" / f"{split}.parquet", text=texts, label=[i % 2 for i in range(rows)])
    variants = ("experiment=twenty_variants", "model/encoder=rnn", "model/attention=none,bahdanau", "seed=7")
    small = ("data.limit=20", "trainer.max_epochs=1", "callbacks=checkpoints", "logger=[csv,wandb]")
    run(folder, "train", "-m", *variants, f"data.path={folder / 'imdb'}", *small)
    (multirun,) = (folder / "outputs" / "twenty_variants" / "multiruns").iterdir()
    return sorted(path.parent for path in multirun.glob("*/result.json"))


def test_each_job_has_a_separate_folder_and_result(sweep: list[Path]) -> None:
    results = [json.loads((folder / "result.json").read_text()) for folder in sweep]
    assert [result["status"] for result in results] == ["completed"] * 2
    jobs = [(result["choices"]["attention"], result["seed"]) for result in results]
    assert jobs == [("none", 7), ("bahdanau", 7)]
    assert [folder.name for folder in sweep] == ["0_attention-none", "1_attention-bahdanau"]
    assert len({result["data"]["fingerprint"] for result in results}) == 1
    assert all(result["metrics"]["test/acc"]["n"] == 10 for result in results)
    for folder in sweep:
        names = {path.name for path in folder.iterdir()}
        assert names >= {"config.yaml", "csv", "checkpoints", "predictions", "train.log", "wandb"}


def test_each_job_has_a_separate_wandb_run(sweep: list[Path]) -> None:
    logs = [read_summary(folder) for folder in sweep]
    assert len({log["run_id"] for log in logs}) == 2
    for folder, log in zip(sweep, logs, strict=True):
        assert log["state"] == "finished"
        run_record = read_records(folder, "run")[0]
        names = (run_record["run_group"], run_record["job_type"], run_record["display_name"])
        assert names == (folder.parent.name, "train", folder.name)
