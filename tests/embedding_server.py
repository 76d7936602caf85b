"""A small server that speaks OpenAI's embeddings, for tests of the remote provider."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import xxhash

DIMENSION = 8
Answer = tuple[int, dict[str, str], bytes]


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """A direction that depends on the text alone; not of unit length."""
    seed = xxhash.xxh32_intdigest(text.encode())
    return [float(value) for value in np.random.default_rng(seed).normal(size=dimension) * 3]


class EmbeddingServer:
    """Answers on a free port; `fail` may answer in its stead."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []  # the texts of each request that was answered
        self.keys: list[str] = []
        self.fail: Callable[[list[str]], Answer | None] = lambda _: None
        self.dimension = DIMENSION
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.keys.append(self.headers.get("Authorization", ""))
                status, headers, answer = server.answer(self.path, body)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def answer(self, path: str, body: dict[str, Any]) -> Answer:
        texts = body["input"]
        failed = self.fail(texts)
        if failed is not None:
            return failed
        if path != "/v1/embeddings":
            return 404, {}, b"{}"
        self.asked.append(texts)
        data = [
            {"object": "embedding", "index": number, "embedding": vector_of(text, self.dimension)}
            for number, text in enumerate(texts)
        ]
        return (
            200,
            {},
            json.dumps({"object": "list", "model": body["model"], "data": data[::-1]}).encode(),
        )

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def serving() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    try:
        yield server
    finally:
        server.stop()
