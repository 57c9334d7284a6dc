"""Tests reach no other machine."""

import socket
from functools import partial

import pytest

ELSEWHERE = ("192.0.2.1", 9)  # an address that no machine has


def test_only_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    with socket.socket() as local:
        functions = [partial(function, ELSEWHERE) for function in (local.connect, local.connect_ex)]
        functions += [partial(socket.create_connection, ELSEWHERE), partial(socket.getaddrinfo, "example.org", 443)]
        for reach in functions:
            with pytest.raises(RuntimeError, match="a test reached for the network"):
                reach()
