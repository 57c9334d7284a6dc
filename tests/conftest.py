"""Every test runs offline, on few threads, and repeatably."""

import os
import sys

os.environ.update(
    WANDB_MODE="offline", WANDB_SILENT="true", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", MPLBACKEND="Agg"
)
if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores; torch reads this at import
    os.environ["OMP_NUM_THREADS"] = "1"

import hypothesis

LOOPBACK = {"localhost", "127.0.0.1", "::1", "", None}


def refuse_network(event: str, args: tuple[object, ...]) -> None:
    """Stop a connection or look-up beyond this machine; W&B's own service answers on loopback."""
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):  # a Unix socket's address is no tuple
        host = args[1][0]
    else:
        return
    if host not in LOOPBACK:
        raise RuntimeError(f"a test reached for the network: {host}")


sys.addaudithook(refuse_network)

hypothesis.settings.register_profile("heed", deadline=None, derandomize=True)
hypothesis.settings.load_profile("heed")
