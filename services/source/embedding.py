"""What is the vector of a question, in the space of the stored vectors?

The counterpart of the embedder for whoever asks: the same model, chosen by the same settings. It
never raises. A remote endpoint that fails is left alone for a minute, then probed by one question,
and for twice as long after every probe that fails, up to a quarter of an hour.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contracts.errors import Fault
from services.source.embedding_endpoint import Endpoint, TextRefused
from services.source.static_model import StaticModel
from services.source.terms import U8

F4 = NDArray[np.float32]
_FIRST_REST_S = 60.0
_LONGEST_REST_S = 900.0
_SERVER_REST_S = 5.0, 60.0  # of a server that did not answer: at first, and at most
_PATIENCE_S = 5.0  # a person waits for the answer
_QUERY_CHARS = 8_000
_REMEMBERED = 256


class EmbedSettings(Protocol):
    """The settings that choose a model; see services/kernel/settings.py."""

    @property
    def embed_provider(self) -> str: ...
    @property
    def embed_url(self) -> str: ...
    @property
    def embed_model(self) -> str: ...
    @property
    def embed_dimension(self) -> int: ...
    @property
    def embed_api_key_file(self) -> str: ...
    @property
    def embed_timeout_seconds(self) -> float: ...


def endpoint_of(settings: EmbedSettings, *, timeout_s: float, tries: int) -> Endpoint:
    """The remote endpoint that the settings name; raises InvalidArgument when they name none."""
    return Endpoint(
        settings.embed_url,
        settings.embed_model,
        dimension=settings.embed_dimension,
        key_file=settings.embed_api_key_file,
        timeout_s=timeout_s,
        tries=tries,
    )


class Breaker:
    """Leaves alone what has just failed. Thread-safe; looking at it consumes nothing."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        rests_s: tuple[float, float] = (_FIRST_REST_S, _LONGEST_REST_S),
    ) -> None:
        self._clock = clock
        self._first_s, self._longest_s = rests_s
        self._lock = threading.Lock()
        self._rest_s = 0.0
        self._probe_at = 0.0

    @property
    def is_open(self) -> bool:
        return self._rest_s > 0

    @property
    def probe_due_in_s(self) -> float:
        """Seconds until the next probe is allowed; 0 when it is due or the breaker is closed."""
        return max(0.0, self._probe_at - self._clock()) if self.is_open else 0.0

    def admits(self) -> bool:
        """Whether to try now; while it is open, only one caller for each rest is told yes."""
        with self._lock:
            if not self._rest_s:
                return True
            if self._clock() < self._probe_at:
                return False
            self._probe_at = self._clock() + self._rest_s
            return True

    def succeeded(self) -> None:
        self._rest_s = 0.0

    def failed(self) -> None:
        with self._lock:
            self._rest_s = min(self._rest_s * 2 or self._first_s, self._longest_s)
            self._probe_at = self._clock() + self._rest_s


class QueryEmbedder:
    """Embeds questions for one process. Thread-safe; a remote call blocks for a few seconds at most."""

    def __init__(self, settings: EmbedSettings) -> None:
        self.provider = settings.embed_provider
        self.breaker = Breaker(rests_s=_SERVER_REST_S)
        self.fault: Fault | None = None  # why the newest remote call failed; None after a success
        self._remembered: OrderedDict[str, F4] = OrderedDict()
        self._last: tuple[str, F4 | None] = ("", None)  # the newest question, of the static model
        self._model: StaticModel | None = None
        self._endpoint: Endpoint | None = None
        try:
            if self.provider == "http":
                patience = min(settings.embed_timeout_seconds, _PATIENCE_S)
                self._endpoint = endpoint_of(settings, timeout_s=patience, tries=1)
            elif self.provider != "none":
                self._model = StaticModel.load()
        except Fault as fault:
            self.fault = fault

    @property
    def known_space(self) -> str:
        """The space of this process's vectors; "" while there is none or a server has not told.

        For who only looks: no server is asked.
        """
        if self._model is not None:
            return self._model.space
        return "" if self._endpoint is None else self._endpoint.space

    @property
    def space(self) -> str:
        """As `known_space`; a server that has not told is asked."""
        if self._endpoint is not None and not self._endpoint.space:
            self._ask(self._endpoint, "dimension")
        return self.known_space

    def vector(self, text: str) -> F4 | None:
        """Unit vector of a question; None when it cannot be had now."""
        if self._model is not None:
            asked, known = self._last  # code and notes are searched with the same question
            if asked != text:
                vector = self._model.embed_query(text)
                known = vector if np.any(vector) else None
                self._last = (text, known)
            return known
        if self._endpoint is None or not text.strip():
            return None
        return self._ask(self._endpoint, text[:_QUERY_CHARS])

    def trust(self, terms: U8) -> float:
        """How much of a question with these body terms its vector stands for, 0..1.

        The static model knows English words and parts of identifiers; of a question in another
        language it may know a single word. Endpoints read everything.
        """
        return 1.0 if self._model is None else self._model.known_share(terms)

    def _ask(self, endpoint: Endpoint, text: str) -> F4 | None:
        known = self._remembered.get(text)
        if known is not None:
            return known
        if not self.breaker.admits():
            return None
        try:
            vector: F4 = endpoint.embed([text])[0]
        except TextRefused:
            return None
        except Fault as fault:
            self.fault = fault
            self.breaker.failed()
            return None
        self.fault = None
        self.breaker.succeeded()
        self._remembered[text] = vector
        while len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return vector
