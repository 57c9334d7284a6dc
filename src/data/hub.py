"""The Hugging Face hub where there is a network, and what it left on disk where there is none."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

TIMEOUT = 3.0  # seconds to wait for the hub's answer


@contextmanager
def connection() -> Iterator[bool]:
    """Within it the hub's libraries never wait for a network that is not there.

    They retry for half a minute before they give up, unless they were told to be offline; so ask first.
    Offline they still find what they downloaded before.

    Yields:
        Whether the hub answered.
    """
    import datasets
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    online = not any(before) and _answers(constants.ENDPOINT)
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = not online
    try:
        yield online
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before


def _answers(address: str) -> bool:
    """Whether any HTTP answer comes back, through the environment's proxies if it has some."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=TIMEOUT):
            return True
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # it is there; the hub's own client knows other certificates
    except OSError:
        return False
