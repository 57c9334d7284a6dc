from typing import Any

import pytest
from omegaconf import OmegaConf

from src.config.mistakes import Mistake
from src.config.plain import plain_node
from src.config.ranges import range_mistakes

TRAINER = {"_target_": "pytorch_lightning.Trainer", "accelerator": "cpu"}


def mistakes(config: dict[str, Any]) -> list[Mistake]:
    return list(range_mistakes(plain_node(OmegaConf.create(config))))


@pytest.mark.parametrize(
    ("config", "entry", "message"),
    [
        ({"seed": -1}, "seed=-1", "must lie in [0, 4294967295]"),
        ({"seed": 2**32}, "seed=4294967296", "must lie in [0, 4294967295]"),
        ({"top": 0}, "top=0", "must be at least 1"),
        ({"trainer": {"max_epochs": 0}}, "trainer.max_epochs=0", "must be at least 1"),
        ({"trainer": {"accumulate_grad_batches": 0}}, "trainer.accumulate_grad_batches=0", "must be at least 1"),
        ({"trainer": {"gradient_clip_val": -0.5}}, "trainer.gradient_clip_val=-0.5", "must be at least 0"),
        ({"trainer": {"check_val_every_n_epoch": 0}}, "trainer.check_val_every_n_epoch=0", "must be at least 1"),
        ({"trainer": {"log_every_n_steps": -1}}, "trainer.log_every_n_steps=-1", "must be at least 0"),
        ({"trainer": {"max_steps": 0}}, "trainer.max_steps=0", "must be at least 1, or be -1"),
        ({"trainer": {"limit_train_batches": 1.5}}, "trainer.limit_train_batches=1.5", "must be a whole number of at"),
        ({"trainer": {"limit_train_batches": 0.0}}, "trainer.limit_train_batches=0.0", "must be a whole number of at"),
        ({"trainer": TRAINER | {"devices": -1}}, "trainer.devices=-1", "selects all accelerators"),
        ({"trainer": TRAINER | {"devices": "-1"}}, "trainer.devices=-1", "selects all accelerators"),
        ({"trainer": TRAINER | {"devices": 0}}, "trainer.devices=0", "must be at least 1"),
        ({"trainer": TRAINER | {"devices": 10**9}}, "trainer.devices=1000000000", "is more than the"),
        ({"trainer": {"accelerator": "gpu", "devices": 1025}}, "trainer.devices=1025", "must be at most 1,024"),
        ({"trainer": {"num_nodes": 2}}, "trainer.num_nodes=2", "needs 2 connected machines: start the command with"),
        ({"trainer": TRAINER | {"devices": "x"}}, "trainer.devices=x", "must be a number of devices"),
        (
            {"trainer": TRAINER | {"devices": [0, 0]}},
            "trainer.devices=[0, 0]",
            "must list at least one device, and no device",
        ),
        ({"trainer": TRAINER | {"devices": [-1]}}, "trainer.devices=[-1]", "must not contain negative indices"),
        ({"param_groups": {"head": {"lr": float("inf")}}}, "param_groups.head.lr=inf", "must be a finite number"),
        (
            {"optimizer": {"_target_": "torch.optim.Adam", "betas": [0.9, float("nan")]}},
            "optimizer.betas[1]=nan",
            "must be a finite number",
        ),
        (
            {"data": {"limit": 10**30}},
            "data.limit=1000000000000000000000000000000",
            "must be between -2^63 and 2^63",
        ),
        ({"callbacks": {"stop": {"patience": -1}}}, "callbacks.stop.patience=-1", "must be at least 0"),
    ],
)
def test_a_number_out_of_range_is_reported_with_its_rule(config: dict[str, Any], entry: str, message: str) -> None:
    (mistake,) = mistakes(config)
    assert mistake.entry == entry
    assert mistake.message.startswith(message)


def test_processes_on_the_cpu_are_limited_by_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert not mistakes({"trainer": TRAINER | {"devices": 3}})
    (mistake,) = mistakes({"trainer": TRAINER | {"devices": 5}})
    assert mistake.message == "is more than the 3 processes that this machine's cores can run: write 1 to 3"
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert not mistakes({"trainer": TRAINER | {"devices": 2}})  # trainer=ddp_sim has two processes


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR"])
def test_a_cluster_may_have_several_machines(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "7")
    assert not mistakes({"trainer": {"num_nodes": 2}})


@pytest.mark.parametrize(
    "config",
    [
        {"seed": None, "trainer": {"max_epochs": None, "max_steps": -1, "num_sanity_val_steps": -1}},
        {"trainer": {"limit_train_batches": 1.0, "limit_val_batches": 3, "overfit_batches": 0.0}},
        {"trainer": {"accelerator": "gpu", "devices": -1}},
        {"trainer": {"accelerator": "gpu", "devices": "0,2"}},
        {"trainer": {"fast_dev_run": True}},
        {"model": {"encoder": {"_target_": "mine.Encoder", "limit": float("inf")}}},
        {"seed": "x", "tags": ["${gone}"]},
    ],
)
def test_other_numbers_pass(config: dict[str, Any]) -> None:
    assert mistakes(config) == []


def test_a_reference_to_an_invalid_number_is_not_a_second_mistake() -> None:
    config = {"seed": -1, "data": {"_target_": "src.data.X", "seed": "${seed}"}}
    assert [mistake.entry for mistake in mistakes(config)] == ["seed=-1"]
