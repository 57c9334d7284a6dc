"""Never waiting for a network that is not there."""

import ssl
import urllib.error
import urllib.request
from contextlib import AbstractContextManager, nullcontext
from email.message import Message

import datasets
import pytest
from huggingface_hub import constants

from src.data import hub

pytestmark = pytest.mark.usefixtures("undecided")


def offline() -> tuple[bool, bool]:
    return constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE


@pytest.mark.parametrize("answers", [True, False])
def test_the_libraries_are_offline_exactly_while_the_hub_is_away(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    monkeypatch.setattr(hub, "_responds", lambda address: answers)
    with hub.connection() as online:
        assert online == answers
        assert offline() == (not answers, not answers)
    assert offline() == (False, False)


def test_the_environments_word_is_not_questioned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub, "_responds", pytest.fail)
    with hub.connection() as online:
        assert not online
    assert offline() == (True, False)


@pytest.mark.parametrize(
    ("error", "answers"),
    [
        (None, True),
        (urllib.error.HTTPError("", 403, "forbidden", Message(), None), True),
        (urllib.error.URLError(ssl.SSLError("certificate")), True),
        (urllib.error.URLError(OSError("no such host")), False),
        (TimeoutError(), False),
    ],
)
def test_any_http_answer_is_an_answer(monkeypatch: pytest.MonkeyPatch, error: Exception | None, answers: bool) -> None:
    def urlopen(*_: object, **__: object) -> AbstractContextManager[None]:
        if error is not None:
            raise error
        return nullcontext()

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    assert hub._responds("http://localhost") == answers
