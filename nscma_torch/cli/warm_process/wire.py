"""Messages between a command and the warm process. This module imports nothing heavy.

A command sends its standard streams, then its arguments, folder, environment and umask as JSON after their length. It
receives the number of the process that runs it, then the exit status.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

_NUMBER = struct.Struct("!q")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line with its surroundings. Without arguments, the warm process is asked to end."""

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    umask: int


def send_command(line: socket.socket, command: Command, streams: Sequence[int]) -> None:
    """Send a command with the descriptors of its standard streams."""
    body = json.dumps(asdict(command)).encode()
    socket.send_fds(line, [_NUMBER.pack(len(body))], streams)
    line.sendall(body)


def receive_command(line: socket.socket) -> tuple[Command, Sequence[int]]:
    """Receive a command and the descriptors of its standard streams. Raises EOFError if it isn't complete."""
    head, streams, _, _ = socket.recv_fds(line, _NUMBER.size, 3)
    (size,) = _NUMBER.unpack(head + _exactly(line, _NUMBER.size - len(head)))
    return Command(**json.loads(_exactly(line, size))), streams


def send_number(line: socket.socket, number: int) -> None:
    """Send a process number or an exit status."""
    line.sendall(_NUMBER.pack(number))


def receive_number(line: socket.socket) -> int:
    """Receive a process number or an exit status. Raises EOFError if the connection ends before."""
    (number,) = _NUMBER.unpack(_exactly(line, _NUMBER.size))
    return int(number)


def _exactly(line: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = line.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return bytes(found)
