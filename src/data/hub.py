"""Access to the Hugging Face hub, or to the local cache of its client libraries if the hub does not respond."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

OFFLINE = "the hub does not respond (or HF_HUB_OFFLINE is set), and there is no local copy"
TIMEOUT = 3.0  # seconds to wait for the hub's response


@contextmanager
def connection() -> Iterator[bool]:
    """Set the hub's client libraries to offline mode in this context if the hub does not respond or one is offline.

    In online mode, the libraries would retry for half a minute before they fail; in offline mode, they use their local
    cache at once. The context's value is whether the libraries are in online mode.
    """
    import datasets
    from huggingface_hub import constants

    previous = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    online = not any(previous) and _responds(constants.ENDPOINT)
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = not online
    try:
        yield online
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = previous


def _responds(address: str) -> bool:
    """Return whether the server at this address responds, through the proxies that the environment sets, if any."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=TIMEOUT):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError as error:  # if the certificate is refused, the host responds, and the libraries may trust it
        return isinstance(getattr(error, "reason", None), ssl.SSLError)
