"""Tests cannot connect to other machines."""

import socket
from functools import partial

import pytest

OTHER_MACHINE = ("192.0.2.1", 9)  # an address reserved for documentation


def test_only_connections_to_this_machine_are_possible() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    with socket.socket() as local:
        functions = [partial(function, OTHER_MACHINE) for function in (local.connect, local.connect_ex)]
        functions += [partial(socket.create_connection, OTHER_MACHINE), partial(socket.getaddrinfo, "example.org", 443)]
        for connect in functions:
            with pytest.raises(RuntimeError, match="a test tried to connect to another machine"):
                connect()
