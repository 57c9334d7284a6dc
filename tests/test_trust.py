"""Files from other people: attacks on the readers of models, on the writers of files, and on folders of runs."""

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint

from heedful import load
from heedful.base.errors import UserError
from heedful.base.files import lock_folder, replace_atomically, write_arrays, write_json, write_text
from heedful.inference.api import with_data
from heedful.runs.checkpoint import read_checkpoint
from heedful.runs.result import RunResult
from heedful.runs.training_state import rebuild_paths
from tests.helpers import change_card, change_checkpoint, evaluate, small_config, train

MARKER = "marker"  # the file that the attacks try to write


@pytest.fixture
def model(checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of a model, which an attack changes."""
    return Path(shutil.copyfile(checkpoint.with_name("best.ckpt"), tmp_path / "received.ckpt"))


def command(marker: Path) -> dict[str, Any]:
    return {"_target_": "subprocess.Popen", "args": ["touch", str(marker)]}


OF_CALLBACKS = {
    "callbacks.evil": {"_target_": "heedful.training.callbacks.stop.StopOnSignal", "checkpoint": MARKER},
    "callbacks.gradients": {"_target_": "heedful.training.callbacks.gradients.GradientNorms", "path": MARKER},
    "callbacks.best_checkpoint.dirpath": MARKER,
    "logger": {"csv": {"_target_": "heedful.training.loggers.csv.Metrics", "save_dir": MARKER}},
    "trainer": {"_target_": "pytorch_lightning.Trainer", "default_root_dir": MARKER},
    "paths.output_dir": MARKER,
    "data.cache_dir": MARKER,
    "optimizer": command(Path(MARKER)),
    "scheduler": command(Path(MARKER)),
    "metrics": {"evil": command(Path(MARKER))},
    "extras.trusted_modules": ["subprocess"],
}


def test_an_evaluation_uses_only_the_model_and_the_data_of_a_card(model: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for key, value in OF_CALLBACKS.items():
        change_card(model, f"config.{key}", value)
    assert evaluate(tmp_path / "eval", model)["status"] == "completed"
    assert load(model).predict(["good"])[0].label in ("negative", "neutral", "positive")
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize(
    "key", ["model.encoder", "model.attention", "model.head", "model.embedding", "loss", "data", "data.tokenizer"]
)
@pytest.mark.parametrize(
    "target", ["subprocess.Popen", "torch.nn.Linear", "heedful.training.callbacks.stop.StopOnSignal"]
)
def test_a_card_creates_only_components_sources_and_tokenizers(key: str, target: str, model: Path, tmp_path) -> None:
    change_card(model, f"config.{key}", {**command(tmp_path / MARKER), "_target_": target})
    change_card(model, "config.extras.trusted_modules", ["subprocess", "torch", "heedful"])
    with pytest.raises(UserError, match="_target_"):
        evaluate(tmp_path / "eval", model) if key.startswith("data") else load(model)
    assert not (tmp_path / MARKER).exists()


def test_a_pickled_object_in_a_model_is_not_created(model: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / MARKER),)

    torch.save({**torch.load(model, weights_only=True), "evil": Evil()}, model)
    with pytest.raises(UserError, match="is damaged, or is not a checkpoint of plain values and tensors"):
        load(model)
    assert not (tmp_path / MARKER).exists()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of the user outside the received folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("mine")
    return tmp_path / "outside" / "file"


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_json(path, RunResult()),
        lambda path: write_arrays(path, a=np.arange(3)),
        lambda path: write_text(path, "theirs"),
    ],
)
def test_a_link_in_a_received_folder_is_replaced_and_not_followed(write: Any, outside: Path, tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to(outside)
    write(path)
    assert outside.read_text() == "mine"
    assert path.is_file() and not path.is_symlink()


def test_nothing_is_written_into_a_linked_folder(outside: Path, tmp_path: Path) -> None:
    (tmp_path / "csv").symlink_to(outside.parent)
    with pytest.raises(UserError, match="is a link to another folder"):
        write_text(tmp_path / "csv" / "file", "theirs")
    assert outside.read_text() == "mine" and len(list(outside.parent.iterdir())) == 1


@pytest.mark.parametrize("name", [".hydra", ".hydra/lock"])
def test_a_lock_follows_no_link(name: str, outside: Path, tmp_path: Path) -> None:
    path = tmp_path / "run" / name
    path.parent.mkdir(parents=True)
    path.symlink_to(outside.parent if name == ".hydra" else outside.with_name("new"))
    with pytest.raises((UserError, OSError)), lock_folder(tmp_path / "run"):
        pass
    assert len(list(outside.parent.iterdir())) == 1


@pytest.mark.parametrize("key", ["best_model_path", "kth_best_model_path", "last_model_path", "best_k_models"])
@pytest.mark.parametrize("name", ["{0}/../x.ckpt", "{0}/..", "{0}/x.txt", "/etc/x.ckpt", "s3://a/x.ckpt", "{0}"])
def test_no_path_of_a_callback_leads_out_of_its_folder(key: str, name: str, tmp_path: Path) -> None:
    callback = ModelCheckpoint(dirpath=tmp_path / "own")
    names = ("best_model_path", "kth_best_model_path", "last_model_path")
    state: dict[str, Any] = {"dirpath": "/old", "best_k_models": {}, **dict.fromkeys(names, "/old/best.ckpt")}
    path = name.format("/old")
    state[key] = {path: torch.tensor(1.0)} if key == "best_k_models" else path
    rebuild_paths({callback.state_key: state}, [callback])
    assert state["dirpath"] == callback.dirpath
    paths = [*(state[name] for name in names), *state["best_k_models"]]
    assert set(paths) <= {"", f"{callback.dirpath}/best.ckpt"}


def test_an_altered_callback_state_deletes_nothing_outside_the_run(checkpoint, outside: Path, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(checkpoint.parents[1], run)

    def name_outside(content: dict[str, Any]) -> None:
        for state in content["callbacks"].values():
            if "best_k_models" in state:
                victim = f"{state['dirpath']}/../../outside/file"
                state.update(best_k_models={victim: torch.tensor(9.0)}, kth_best_model_path=victim)

    last = change_checkpoint(run / "checkpoints" / "last.ckpt", name_outside)
    options = ("callbacks=checkpoints", "test=false", "trainer.max_epochs=3")
    assert train(run, *options, f"ckpt_path='{last}'")["status"] == "completed"
    assert outside.read_text() == "mine"


def test_two_writers_do_not_mix_their_rows_and_remove_what_a_killed_one_left(tmp_path: Path) -> None:
    path, barrier = tmp_path / "out.csv", threading.Barrier(2)
    (tmp_path / ".out.csv.0a1b2c3d.part").write_text("half")
    (tmp_path / ".out.csv.4e5f6a7b.part").symlink_to(tmp_path)

    def write(letter: str) -> None:
        with replace_atomically(path) as part, part.open("w") as file:
            for _ in range(5):
                file.write(letter)
                file.flush()
                barrier.wait()

    writers = [threading.Thread(target=write, args=letter) for letter in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_text() in ("aaaaa", "bbbbb")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".out.csv.4e5f6a7b.part", "out.csv"]


def test_a_release_is_complete_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from studies import release

    def killed(table: object, part: Path, **options: object) -> None:
        part.write_bytes(b"PAR1 and the first 58 bytes")
        raise KeyboardInterrupt

    monkeypatch.setattr(release.pq, "write_table", killed)
    monkeypatch.setattr(release, "find_runs", lambda folders: type("Found", (), {"runs": []}))
    with pytest.raises(KeyboardInterrupt):
        release.write_release(tmp_path, tmp_path / "seed_1.parquet")
    assert not list(tmp_path.iterdir())


def test_a_card_cannot_read_the_environment(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_TESTS", "secret")
    for key in ("model.encoder.cell", "data.text"):
        change_card(model, f"config.{key}", "${oc.env:SECRET_OF_TESTS}")
    card, _ = read_checkpoint(model)
    assert card.cfg("model").model.encoder.cell == "${oc.env:SECRET_OF_TESTS}"
    cfg = OmegaConf.create({"data": {"limit": 7}, "extras": small_config(tmp_path).extras, "ckpt_path": str(model)})
    assert with_data(cfg, card).data.text == "${oc.env:SECRET_OF_TESTS}"
    assert OmegaConf.to_container(with_data(cfg, card), resolve=True)["data"]["limit"] == 7  # type: ignore[call-overload,index]
