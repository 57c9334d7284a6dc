"""The logger for MLflow: `logger=mlflow` selects it.

`mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db` shows the runs.
"""

import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock
from pytorch_lightning.loggers import MLFlowLogger

from src.config.paths import unwritable_reason
from src.extras import require_extra
from src.loggers.tracker import Report, Tracker, description, final_numbers
from src.run_result import RunResult

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # telemetry starts at import
require_extra("mlflow", "sqlalchemy", "alembic", by="logger=mlflow", extra="mlflow")

STATUS = {"completed": "FINISHED", "pruned": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
SQLITE = "sqlite:///"


class Mlflow(Tracker, MLFlowLogger):
    """Lightning's MLflow logger, which also logs the run's pictures, its page and its status.

    Args:
        experiment_name: the experiment that contains the runs of a project.
        tracking_uri: URI of a server, or of a database such as sqlite:///outputs/mlflow.db; the files of runs
            in an SQLite database go into a folder beside it.
        tags: tags of the run.
        group: the sweep that the run belongs to.
        job_type: train or eval.
        options: other options of Lightning's logger.

    Raises:
        ValueError: if the SQLite database cannot be written.
    """

    def __init__(
        self,
        experiment_name: str,
        tracking_uri: str,
        tags: Sequence[str] = (),
        group: str | None = None,
        job_type: str | None = None,
        **options: Any,
    ) -> None:
        logging.getLogger("mlflow").setLevel(logging.WARNING)  # MLflow logs every table that it creates
        run_tags = {"tags": ", ".join(tags), "group": group, "job_type": job_type}
        _create_experiment(experiment_name, tracking_uri)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SQLAlchemy's warnings about MLflow's code
            super().__init__(
                experiment_name=experiment_name,
                tracking_uri=tracking_uri,
                tags={name: value for name, value in run_tags.items() if value},
                **options,
            )

    def describe(self, result: RunResult) -> None:
        self.log_hyperparams(description(result))
        self.experiment.set_tag(self.run_id, "variant", result.architecture)

    def show(self, report: Report) -> None:
        self.log_metrics(report.numbers(), report.step)
        for kind, paths in (("pictures", report.pictures), ("pages", report.pages)):
            for path in paths.values():
                self.experiment.log_artifact(self.run_id, str(path), kind)

    def close(self, result: RunResult) -> None:
        self.log_metrics(final_numbers(result))
        self.experiment.set_terminated(self.run_id, STATUS[result.status])


def _create_experiment(experiment_name: str, tracking_uri: str) -> None:
    """Create an SQLite database and its experiment, only once even if several jobs of a sweep start together.

    For any other `tracking_uri`, nothing is created here.
    """
    if not tracking_uri.startswith(SQLITE):
        return
    from mlflow.tracking import MlflowClient

    database = Path(tracking_uri.removeprefix(SQLITE)).absolute()
    if reason := unwritable_reason(database.parent):
        raise ValueError(f"tracking_uri={tracking_uri} cannot be written to ({reason}): choose another file")
    database.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(database.with_suffix(".lock")), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = MlflowClient(tracking_uri)
        if client.get_experiment_by_name(experiment_name) is None:
            client.create_experiment(experiment_name, database.with_suffix("").as_uri())
