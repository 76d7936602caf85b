"""How are texts embedded by somebody else's server?

Any server that speaks OpenAI's `POST {url}/embeddings` will do (Ollama, vLLM, text-embeddings-inference,
OpenAI itself). Calls block; they are made in threads. Each thread keeps its connection. Proxies and
redirects are not followed: texts of a repository go to the address in the settings and nowhere else.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from contracts.errors import InvalidArgument, Unavailable

F4 = NDArray[np.float32]
_RECIPE = "1"  # raise it when the same text would be put to the model in other words
_LARGEST_ANSWER = 256 << 20
_PAUSES_S = (0.5, 2.0)
_LONGEST_PAUSE_S = 10.0
_TEXT_REFUSED = frozenset({400, 413, 422})
_WORTH_A_RETRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_BROKEN = (OSError, http.client.HTTPException)


class TextRefused(InvalidArgument):
    """The server answers, but not to these texts: too long, empty, or otherwise not to its liking."""


class EndpointDown(Unavailable):
    """The server cannot be reached, is overloaded, or is not set up for what the settings ask."""


class _Item(Struct):
    embedding: list[float]
    index: int = -1


class _Answer(Struct):
    data: list[_Item]


_decode = msgspec.json.Decoder(_Answer).decode
_encode = msgspec.json.Encoder().encode


class Endpoint:
    """One embedding model behind one address. Thread-safe."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimension: int = 0,
        key_file: str = "",
        timeout_s: float = 30.0,
        tries: int = 3,
    ) -> None:
        """`dimension` 0 takes that of the first answer. `key_file` holds the bearer key, if any."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not model:
            raise InvalidArgument(
                "the embedding endpoint is not set up",
                hint="set REPOFOLD_EMBED_URL (http://host:port/v1) and REPOFOLD_EMBED_MODEL",
            )
        self.model = model
        self.dimension = dimension
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/") + "/embeddings"
        self._key_file = key_file
        self._timeout_s, self._tries = timeout_s, tries
        self._local = threading.local()

    @property
    def space(self) -> str:
        """Model, dimension and normalisation; "" until the dimension is known."""
        if not self.dimension:
            return ""
        return f"http:{self.model}/{self.dimension}/unit-int8/{_RECIPE}"

    def embed(self, texts: Sequence[str]) -> F4:
        """Unit vectors of texts, [texts, dimension]; one request.

        Raises TextRefused when the server will not take these texts, EndpointDown for the rest.
        """
        body = _encode({"model": self.model, "input": list(texts)})
        for attempt in range(1, self._tries + 1):
            status, headers, answer = self._exchange(body, last=attempt == self._tries)
            if status == 200:
                return self._vectors(answer, len(texts))
            if status in _TEXT_REFUSED:
                raise TextRefused(
                    f"the embedding server refused the text ({status})", said=_said(answer)
                )
            if status not in _WORTH_A_RETRY or attempt == self._tries:
                raise _refused(status, answer)
            time.sleep(_pause(attempt, headers))
        raise EndpointDown("the embedding server was not asked")

    def _exchange(self, body: bytes, *, last: bool) -> tuple[int, Mapping[str, str], bytes]:
        """One request; status 503 stands for a broken connection unless it is the last try."""
        # A kept connection may have been closed by the server meanwhile; that says nothing about it.
        kept = getattr(self._local, "connection", None) is not None
        try:
            return self._request(body)
        except _BROKEN as error:
            self._forget()
            if kept and not isinstance(error, TimeoutError):
                return self._exchange(body, last=last)
            if last:
                raise EndpointDown(
                    f"the embedding server does not answer: {type(error).__name__}",
                    hint=f"check that {self._host}:{self._port or ''} runs and REPOFOLD_EMBED_URL names it",
                ) from None
            return 503, {}, b""

    def _request(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        connection = self._connection()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_file:
            headers["Authorization"] = f"Bearer {_key(self._key_file)}"
        connection.request("POST", self._path, body, headers)
        response = connection.getresponse()
        answer = response.read(_LARGEST_ANSWER)
        if response.will_close or not response.isclosed():
            self._forget()
        return response.status, dict(response.getheaders()), answer

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            if self._tls is not None:
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=self._timeout_s, context=self._tls
                )
            else:
                connection = http.client.HTTPConnection(
                    self._host, self._port, timeout=self._timeout_s
                )
            self._local.connection = connection
        return connection

    def _forget(self) -> None:
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def _vectors(self, answer: bytes, expected: int) -> F4:
        try:
            items = _decode(answer).data
        except msgspec.MsgspecError:
            raise EndpointDown("the embedding server's answer cannot be read", hint=_HINT) from None
        if len(items) != expected:
            raise EndpointDown(
                f"the embedding server gave {len(items)} vectors for {expected} texts", hint=_HINT
            )
        if any(item.index >= 0 for item in items):
            items.sort(key=lambda item: item.index)
        dimension = self.dimension or len(items[0].embedding)
        if any(len(item.embedding) != dimension for item in items) or not dimension:
            raise EndpointDown(
                f"the embedding server's vectors are not of dimension {dimension}",
                hint="set REPOFOLD_EMBED_DIMENSION to the model's own, or leave it out",
            )
        vectors = np.array([item.embedding for item in items], np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
            raise EndpointDown("the embedding server gave a vector without a direction", hint=_HINT)
        self.dimension = dimension
        unit: F4 = vectors / lengths
        return unit


_HINT = "check that REPOFOLD_EMBED_MODEL names an embedding model"


def _pause(attempt: int, headers: Mapping[str, str]) -> float:
    asked = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    if asked.isdigit():
        return min(float(asked), _LONGEST_PAUSE_S)
    return _PAUSES_S[min(attempt, len(_PAUSES_S)) - 1]


def _refused(status: int, answer: bytes) -> EndpointDown:
    hints = {
        401: "check the key in REPOFOLD_EMBED_API_KEY_FILE",
        403: "check the key in REPOFOLD_EMBED_API_KEY_FILE",
        404: "check REPOFOLD_EMBED_URL (it usually ends in /v1) and REPOFOLD_EMBED_MODEL",
    }
    hint = hints.get(status, "look into the embedding server's log")
    return EndpointDown(f"the embedding server answered {status}", hint=hint, said=_said(answer))


def _said(answer: bytes) -> str:
    return answer[:300].decode("utf-8", "replace")


def _key(path: str) -> str:
    # Read each time, so that a key may be replaced without a restart.
    try:
        return Path(path).read_text().strip()
    except OSError:
        raise EndpointDown(
            "the key of the embedding server cannot be read",
            hint="REPOFOLD_EMBED_API_KEY_FILE must name a readable file",
        ) from None
