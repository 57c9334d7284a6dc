"""Launchers that run several jobs at once."""

import re
from pathlib import Path

import pytest

from src.sweep.launchers import install_hint
from tests.sweep.sweeps import SMALL, results, swept


@pytest.mark.parametrize(("launcher", "options"), [("joblib", ["hydra.launcher.n_jobs=2"]), ("submitit_local", [])])
def test_jobs_that_start_at_once_tokenize_once(launcher: str, options: list[str], tmp_path: Path) -> None:
    pytest.importorskip(f"hydra_plugins.hydra_{launcher.removesuffix('_local')}_launcher")
    sweep = tmp_path / "sweep"
    given = ("seed=1,2", "trainer.max_epochs=1", *SMALL, f"hydra/launcher={launcher}", *options)
    code, said = swept(tmp_path, "-m", *given, f"hydra.sweep.dir={sweep}")
    assert code == 0, said
    assert "2 completed." in said
    assert [record["seed"] for record in results(sweep).values()] == [1, 2]
    tokenized = [path for path in sweep.glob("*/train.log") if "Tokenized" in path.read_text()]
    assert len(tokenized) == 1
    assert all("test/acc" in path.read_text() for path in sweep.glob("[01]_*/output.txt"))


def test_a_ray_cluster_of_two_nodes_shares_jobs_out_by_parts_of_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray counts GPUs without looking for them: half of the only one for each of two jobs."""
    pytest.importorskip("hydra_plugins.hydra_ray_launcher")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_worker_niceness", "0")  # it would make way for all else that a busy machine does
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=2, num_gpus=1)
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        sweep = tmp_path / "sweep"
        given = ("seed=1,2", "trainer.max_epochs=1", *SMALL, "hydra/launcher=ray_cluster")
        half = ("hydra.launcher.ray.remote.num_gpus=0.5", f"hydra.sweep.dir={sweep}")
        code, said = swept(tmp_path, "-m", *given, *half)
    finally:
        cluster.shutdown()
    assert code == 0, said
    assert "2 completed." in said
    assert [record["seed"] for record in results(sweep).values()] == [1, 2]


def test_an_uninstalled_launcher_comes_with_its_command() -> None:
    command = "in Heed's folder, run pip install -c constraints.txt '.[submitit]'"
    assert install_hint("slurm") == install_hint("submitit_local") == command
    assert install_hint("nowhere") is None


def test_what_is_asked_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is stopped is requeued: Submitit's script asks for the signal before the end of its time."""
    submitit = pytest.importorskip("submitit")
    monkeypatch.setattr("shutil.which", lambda name, *args: f"/usr/bin/{name}")
    from hydra import compose, initialize_config_dir
    from hydra.utils import instantiate

    from tests.helpers import CONF

    with initialize_config_dir(CONF, version_base="1.3"):
        given = ["hydra/launcher=slurm", "hydra.launcher.partition=long", f"hydra.sweep.dir={tmp_path}"]
        cfg = compose("train", given, return_hydra_config=True)
    launcher = instantiate(cfg.hydra.launcher)
    options = {name: value for name, value in launcher.params.items() if name not in ("submitit_folder",)}
    tries = options.pop("max_num_timeout")
    shared = ("name", "timeout_min", "mem_gb", "nodes", "cpus_per_task", "gpus_per_node", "tasks_per_node")
    shared += ("stderr_to_stdout",)
    executor = submitit.AutoExecutor(tmp_path, cluster="slurm", slurm_max_num_timeout=tries)
    executor.update_parameters(**{key if key in shared else f"slurm_{key}": value for key, value in options.items()})
    script = executor._executor._make_submission_file_text("work", "1")
    assert re.search("--partition=long", script)
    assert "--signal=USR2@120" in script
    assert tries == 100
