"""The door of a Postgres that speaks TLS, before a server that was built without it."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

_ASKS_FOR_TLS = b"\0\0\0\x08\x04\xd2\x16\x2f"


def certificate(folder: Path, name: str) -> Path:
    """A certificate for `localhost` that is signed by itself, its key beside it."""
    made = folder / f"{name}.crt"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        f"-addext subjectAltName=DNS:localhost -out {made} -keyout {folder}/{name}.key"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    return made


@asynccontextmanager
async def tls_before(url: str, shown: Path) -> AsyncGenerator[tuple[str, list[str]]]:
    """A URL that leads to the server by TLS only, without a question mark; and the ciphers of who came."""
    info = conninfo_to_dict(url)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(shown, shown.with_suffix(".key"))
    ciphers: list[str] = []
    serving: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            if await reader.readexactly(8) == _ASKS_FOR_TLS:
                writer.write(b"S")
                await writer.start_tls(context)
                ciphers.append(writer.get_extra_info("cipher")[0])
                server = await asyncio.open_connection(str(info["host"]), int(str(info["port"])))
                answers = asyncio.create_task(_copy(server[0], writer))
                await _copy(reader, server[1])
                await asyncio.wait([answers])
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.create_task(serve(reader, writer)))

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://postgres:hush-hush@localhost:{port}/{info['dbname']}", ciphers
    finally:
        listener.close()
        # The clients have closed, so each of them comes to its end.
        await asyncio.gather(*serving)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while received := await reader.read(1 << 16):
            writer.write(received)
            await writer.drain()
    writer.close()
