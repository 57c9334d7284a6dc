"""`python -m benchmarks.step_profile` on a few reviews."""

import json
import time

import pytest

from benchmarks import step_profile
from benchmarks.step_profile import BARE, REST, TRAINER, Clock


def test_the_time_of_a_call_belongs_to_the_innermost_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 3.0, 8.0, 10.0, 17.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    clock = Clock()
    clock.owned("outer", clock.owned("inner", lambda: None))()
    clock.stop("rest")
    assert clock.seconds == {"inner": 5.0, "outer": 4.0, "rest": 8.0}
    assert clock.calls == {"inner": 1, "outer": 1}


def test_each_part_of_a_step_is_measured(tmp_path, monkeypatch, capsys) -> None:
    for name, number in (("TRAIN", 83), ("TEST", 11), ("EPOCHS", 2)):
        monkeypatch.setattr(step_profile, name, number)
    arguments = ["--works=rnn", "--tiny", "--steps=3", "--batch-size=16", f"--out={tmp_path}"]
    step_profile.main(tmp_path, arguments)
    for work in json.loads((tmp_path / "step_profile.json").read_text())["works"]:
        own, bare = work[TRAINER]["owners"], work[BARE]["owners"]
        parts = {"batch building", "forward", "loss", "backward", "optimizer"}
        assert bare.keys() == {*parts, "the loop"}
        assert own.keys() >= {*parts, REST, "hooks of GradientNorms", "training_step, metrics"}
        assert min(own.values()) > 0
        assert work[TRAINER]["calls"]["backward"] == work[BARE]["calls"]["forward"] == 1
    assert "1 feature and 8 tokens" in capsys.readouterr().out
