"""A billing system that is none: it answers on this computer, and remembers how often it was asked for what."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, cast

Before = Callable[[str], None]
"""Called with each request's path before it is answered."""


class Billing(ThreadingHTTPServer):
    """`dispatched` counts for each invoice how often it was sent."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0, *, before: Before = lambda _path: None) -> None:
        super().__init__(("127.0.0.1", port), _Desk)
        self.dispatched: Counter[str] = Counter()
        self.before = before
        self._order = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str) -> dict[str, Any]:
        """What the path asks for."""
        self.before(path)
        _, kind, name, verb = path.split("/")
        if (kind, verb) == ("invoices", "dispatch"):
            with self._order:
                self.dispatched[name] += 1
                return {"receipt": f"R-{name}-{self.dispatched[name]}"}
        return {"customer": f"the customer of {name}"} if verb == "customer" else {}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked is gone, and was killed perhaps: nothing is wrong here."""


class _Desk(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        billing = cast("Billing", self.server)
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        body = json.dumps(billing.answer(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """It says what it has to say when it ends."""


def main() -> None:
    with Billing(8090) as billing:
        print(f"the billing system answers on {billing.url} (Ctrl-C stops)")
        try:
            billing.serve_forever()
        except KeyboardInterrupt:
            for invoice, times in sorted(billing.dispatched.items()):
                print(f"{invoice}: sent {times} time(s)")


if __name__ == "__main__":
    main()
