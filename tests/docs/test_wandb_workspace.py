"""The W&B workspace, built without a server and saved to a simulated one."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from docs.wandb_workspace import build, main
from tests.helpers import ROOT


def section_of(by: str = "variant") -> dict[str, Any]:
    """The content of the workspace that W&B would store."""
    return json.loads(build("us", "heedful", by)._to_model().spec.model_dump_json(by_alias=True))["section"]


def panels(section: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The panels of each section, with their kinds."""
    return {
        group["name"].split(" (")[0]: [{"kind": panel["viewType"], **panel["config"]} for panel in group["panels"]]
        for group in section["panelBankConfig"]["sections"]
    }


def test_the_workspace_contains_all_sections_for_comparisons() -> None:
    section = section_of()
    sections = panels(section)
    ranking = sections["Ranking"]
    assert [panel["metrics"] for panel in ranking] == [["test/acc"], ["test/f1_macro"], ["test/auroc"], ["test/ece"]]
    assert {bars["groupBy"] for bars in ranking} == {"variant.value"}
    grid = {panel["chartTitle"]: panel for panel in sections["Accuracy of each encoder by attention mechanism"]}
    encoders = {path.stem for path in (ROOT / "conf" / "model" / "encoder").glob("*.yaml")}
    assert grid.keys() == {f"of_encoder/{encoder}" for encoder in encoders}
    assert grid["of_encoder/bilstm"]["groupBy"] == "choices.value.attention"
    (runs,) = section["runSets"]
    assert [(condition["key"]["name"], condition["value"]) for condition in runs["filters"]["filters"]] == [
        ("jobType", "train")
    ]
    assert not section["settings"]["shouldAutoGeneratePanels"]


def test_the_workspace_is_printed_as_json_with_the_requested_grouping(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--by", "optimizer.lr"])
    workspace = json.loads(capsys.readouterr().out)
    assert workspace["name"] == "Heedful" and len(workspace["sections"]) == 8
    sections = panels(section_of("optimizer.lr"))
    grouped = {panel["groupBy"] for name in ("Ranking", "Curves", "Gradient norms") for panel in sections[name]}
    assert grouped == {"optimizer.value.lr"}


def test_the_workspace_is_saved_with_one_command(monkeypatch, capsys) -> None:
    views: list[dict[str, Any]] = []

    def execute(api: object, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        assert "upsertView" in query
        views.append(variables)
        return {"upsertView": {"view": {"name": "nw-abc-v", "id": "1"}, "inserted": True}}

    monkeypatch.setattr("wandb.login", lambda **_: True)
    monkeypatch.setattr("wandb.Api", lambda: SimpleNamespace())
    monkeypatch.setattr("wandb_workspaces.workspaces.internal.execute_graphql", execute)
    monkeypatch.setattr("wandb_workspaces.workspaces.interface.get_app_url", lambda api: "https://wandb.test")
    main(["--save", "team/heedful"])
    assert capsys.readouterr().out == "Saved: https://wandb.test/team/heedful?nw=abc\n"
    (view,) = views
    assert (view["entityName"], view["projectName"], view["displayName"]) == ("team", "heedful", "Heedful")
    assert "Ranking" in panels(json.loads(view["spec"])["section"])


def test_saving_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wandb.login", lambda **_: False)
    with pytest.raises(SystemExit, match=r"^Error: --save needs a W&B account: run `wandb login`"):
        main(["--save", "team/heedful"])


@pytest.mark.parametrize("target", ["heedful", "/heedful", "team/"])
def test_the_save_target_must_be_an_entity_and_a_project(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--save", target])
    assert (
        f"--save={target} must name an entity and a project, such as --save my-team/heedful" in capsys.readouterr().err
    )


def test_a_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    with pytest.raises(SystemExit, match=r"^Error: wandb_workspace\.py needs the package wandb_workspaces, which"):
        main([])
