"""The connection to the hub, and the offline mode of its libraries without a network."""

import ssl
import urllib.error
import urllib.request
from contextlib import AbstractContextManager, nullcontext
from email.message import Message

import datasets
import pytest
from huggingface_hub import constants

from src.data import hub

pytestmark = pytest.mark.usefixtures("unset_offline_mode")


def offline_settings() -> tuple[bool, bool]:
    return constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE


@pytest.mark.parametrize("responds", [True, False])
def test_the_libraries_are_offline_while_the_hub_does_not_respond(
    monkeypatch: pytest.MonkeyPatch, responds: bool
) -> None:
    monkeypatch.setattr(hub, "_responds", lambda address: responds)
    with hub.connection() as online:
        assert online == responds
        assert offline_settings() == (not responds, not responds)
    assert offline_settings() == (False, False)


def test_the_offline_setting_of_the_environment_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub, "_responds", pytest.fail)
    with hub.connection() as online:
        assert not online
    assert offline_settings() == (True, False)


@pytest.mark.parametrize(
    ("error", "responds"),
    [
        (None, True),
        (urllib.error.HTTPError("", 403, "forbidden", Message(), None), True),
        (urllib.error.URLError(ssl.SSLError("certificate")), True),
        (urllib.error.URLError(OSError("no such host")), False),
        (TimeoutError(), False),
    ],
)
def test_any_http_response_is_a_response(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, responds: bool
) -> None:
    def urlopen(*_: object, **__: object) -> AbstractContextManager[None]:
        if error is not None:
            raise error
        return nullcontext()

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    assert hub._responds("http://localhost") == responds
