"""Rank text files with a running server, with the standard library only, and print each file's best passage.

    longrank serve --rerank-only                                           in one terminal
    python examples/rerank_client.py "how are hurricanes named" *.txt      in another

LONGRANK_URL and LONGRANK_API_KEY set the address and the key.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL = os.environ.get("LONGRANK_URL", "http://127.0.0.1:8330")
KEY = os.environ.get("LONGRANK_API_KEY")
ATTEMPTS = 5


def rerank(query: str, documents: list[str]) -> dict[str, Any]:
    """Return the server's reply; while it is busy or loading, retry after `Retry-After` seconds."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {KEY}"} if KEY else {})}
    value = {"query": query, "documents": documents, "evidence": True, "passages": 1}
    request = Request(f"{URL}/v2/rerank", json.dumps(value).encode(), headers)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code not in (429, 503) or attempt == ATTEMPTS:
                sys.exit(f"{error.code}: {json.load(error)['message']}")
            time.sleep(float(error.headers["Retry-After"]))
    raise AssertionError("never reached")


def main(query: str, *paths: str) -> None:
    """Print a line per file, best first: relevance, file, offsets of the best passage, its first words."""
    documents = [Path(path).read_bytes().decode() for path in paths]  # with the line ends to which offsets refer
    answer = rerank(query, documents)
    for warning in answer["meta"].get("warnings", []):
        print(f"note: {warning}", file=sys.stderr)
    for result in answer["results"]:
        path, (best,) = paths[result["index"]], result["passages"]
        shown = " ".join(documents[result["index"]][best["start"] : best["end"]].split())
        print(f"{result['relevance_score']:.3f}  {path}:{best['start']}-{best['end']}  {shown[:100]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
