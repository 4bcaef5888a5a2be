"""Requests of the page that tests hold back."""

from __future__ import annotations

from typing import Any


class Held:
    """Requests of an address that wait for the test."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.routes: list[Any] = []
        page.route(address, self.hold)

    def hold(self, route: Any) -> None:
        self.routes.append(route)

    def nth(self, n: int) -> Any:
        """Return a request by its number, once it is sent: the page shows that it waits a moment before."""
        for _ in range(1000):
            if len(self.routes) > n:
                return self.routes[n]
            self.page.wait_for_timeout(20)
        raise AssertionError("no request was sent")
