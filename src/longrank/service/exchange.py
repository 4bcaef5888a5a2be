"""One request and its answer: what has been sent so far, and what every answer carries."""

from __future__ import annotations

import time

from longrank.service.answers import CLOSE, SECURITY_HEADERS, answer, encoded
from longrank.service.bodies import Message, Send
from longrank.service.errors import Refusal
from longrank.service.head import Head, request_id

_COMMON = encoded(SECURITY_HEADERS)


class Exchange:
    """Sends an answer, once, and remembers what it was.

    Attributes:
        head: the request's.
        id: the request's, as log and answer name it.
        status: of the answer; 499 while nothing was sent.
        code: why the request was refused, if it was.
        begun: whether an answer is on its way.
        complete: whether the answer has been sent to its end.
        arrival: when the head was read, of `time.monotonic`.
        unread: whether a part of the body may be on its way still.
    """

    def __init__(self, head: Head, send: Send) -> None:
        self.head, self._send = head, send
        self.id = request_id(head)
        self.status, self.code = 499, ""
        self.begun = self.complete = False
        self.unread = "content-length" in head.headers or "transfer-encoding" in head.headers
        self.arrival = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the head was read."""
        return time.monotonic() - self.arrival

    async def send(self, message: Message) -> None:
        """Send a part of the application's answer; a 500 is held back: `refuse` says it in our own words."""
        if message["type"] == "http.response.start":
            if message["status"] == 500:
                return
            self.begun, self.status = True, message["status"]
            message = {**message, "headers": self._headers(list(message.get("headers", ())))}
        elif not self.begun:
            return
        await self._send(message)
        self.complete = message["type"] == "http.response.body" and not message.get("more_body")

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with a refusal, if nothing has been answered yet."""
        if self.begun:
            return
        written = answer(refusal, self.head.path, self.id)
        self.begun, self.status, self.code = True, written.status, refusal.code
        headers = self._headers(written.headers)
        await self._send({"type": "http.response.start", "status": written.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": written.body})
        self.complete = True

    def _headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        names = {name.lower() for name, _ in given}
        headers = given + [one for one in _COMMON if one[0] not in names]
        if self.unread and "expect" in self.head.headers and b"connection" not in names:
            headers += encoded(CLOSE)  # a body that was not asked for, and may come or not
        return [*headers, (b"x-request-id", self.id.encode())]
