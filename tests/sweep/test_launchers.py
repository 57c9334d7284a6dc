"""Launchers that run several jobs in parallel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import get_class
from omegaconf import OmegaConf

from heedful.base.optional_packages import plugin_install_hint
from heedful.sweep.sweeper import worker_path
from tests.helpers import ROOT, repository
from tests.sweep.sweeps import SMALL, read_results, run_sweep


@pytest.mark.parametrize(
    ("launcher", "seeds", "options"),
    [
        ("joblib", [1], ["hydra.launcher.n_jobs=2"]),  # a second job would import everything twice more
        pytest.param("joblib", [1, 2], ["hydra.launcher.n_jobs=2"], marks=pytest.mark.weekly),
        pytest.param("submitit_local", [1], [], marks=pytest.mark.weekly),
    ],
)
def test_jobs_run_in_the_processes_of_a_launcher(launcher, seeds, options, tmp_path, monkeypatch) -> None:
    """The plan tokenizes the texts for all jobs. They resolve their references, and write UTF-8 in every terminal."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    pytest.importorskip(f"hydra_plugins.hydra_{launcher.removesuffix('_local')}_launcher")
    sweep = tmp_path / "sweep"
    overrides = ("trainer.max_epochs=1", *SMALL, f"hydra/launcher={launcher}", *options, "data.seed=${seed}")
    line = ("-m", f"seed={','.join(map(str, seeds))}", *overrides, f"hydra.sweep.dir={sweep}")
    output = run_sweep(tmp_path, *line)
    assert f"{len(seeds)} completed." in output
    results = read_results(sweep).values()
    assert [record["seed"] for record in results] == seeds
    assert all(record["overrides"][-1] == "data.seed=${seed}" for record in results)
    configs = map(OmegaConf.load, sorted(sweep.glob("*/config.yaml")))
    assert [OmegaConf.select(config, "data.seed") for config in configs] == seeds
    assert output.count("tokens per text, median") == 1  # the table of the data
    assert not [path for path in sweep.glob("*/*.log") if "Tokenized" in path.read_text()]
    outputs = [path.read_text(encoding="utf-8") for path in sweep.glob("[01]_*/output.txt")]
    assert not any("tokens per text, median" in text for text in outputs)
    assert len(outputs) == len(seeds) and all("test/acc" in text and "–" in text for text in outputs)


@pytest.mark.weekly  # a cluster takes 20 seconds
def test_jobs_share_a_gpu_of_a_ray_cluster_with_two_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two jobs uses half of the only GPU, which Ray counts without detecting it."""
    pytest.importorskip("hydra_plugins.hydra_ray_launcher")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_worker_niceness", "0")  # with a lower priority, workers get no time on a busy machine
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=2, num_gpus=1)
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        sweep = tmp_path / "sweep"
        overrides = ("seed=1,2", "trainer.max_epochs=1", *SMALL, "hydra/launcher=ray_cluster")
        options = ("hydra.launcher.ray.remote.num_gpus=0.5", f"hydra.sweep.dir={sweep}")
        output = run_sweep(tmp_path, "-m", *overrides, *options)
    finally:
        cluster.shutdown()
    assert "2 completed." in output
    assert [record["seed"] for record in read_results(sweep).values()] == [1, 2]


def test_workers_find_the_users_modules_and_those_of_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "a:b")
    assert worker_path() == f"{ROOT}/src:a:b"  # like `python -P`
    monkeypatch.syspath_prepend(tmp_path)
    assert worker_path() == f"{tmp_path}:{ROOT}/src:a:b"
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setattr("sysconfig.get_path", lambda name: f"{ROOT}/src")  # as if installed
    assert worker_path() == str(tmp_path)


def test_a_sweep_runs_the_code_of_the_clone_in_the_current_folder(tmp_path: Path) -> None:
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name)
    server = "import os; print('this clone', flush=True); os._exit(0)\n"  # which ends before its long imports
    (tmp_path / "src/heedful/sweep/preload.py").write_text(server)
    line = [sys.executable, "-m", "src.train", "-m", "seed=1"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    process = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "this clone" in process.stdout


def test_missing_launchers_are_reported_with_their_install_command() -> None:
    command = "run pip install 'heedful[submitit]'"
    assert plugin_install_hint("slurm") == plugin_install_hint("submitit_local") == command
    assert plugin_install_hint("nowhere") == "is its plugin installed?"


def test_a_slurm_job_is_saved_before_its_time_limit_and_requeued() -> None:
    pytest.importorskip("submitit")
    cfg = repository("train").compose(["hydra/launcher=slurm", "hydra.launcher.partition=long"])
    launcher: Any = OmegaConf.to_container(cfg.hydra.launcher)
    options = get_class(launcher.pop("_target_"))(**launcher).params
    assert (options["partition"], options["signal_delay_s"], options["max_num_timeout"]) == ("long", 120, 100)
