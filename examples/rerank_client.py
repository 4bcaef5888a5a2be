"""Rank text files by a running server, with nothing but the standard library, and print each one's best passage.

    longrank serve --rerank-only                                           in one terminal
    python examples/rerank_client.py "how are hurricanes named" *.txt      in another

The address and the key are taken from LONGRANK_URL and LONGRANK_API_KEY.
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
    """Ask the server; when it is busy or still loading, ask again as soon as it says."""
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
    """Print a line per file, best first: relevance, file, where the best passage is, the passage's beginning."""
    documents = [Path(path).read_text(encoding="utf-8") for path in paths]
    answer = rerank(query, documents)
    for warning in answer["meta"].get("warnings", []):
        print(f"note: {warning}", file=sys.stderr)
    for one in answer["results"]:
        (best,) = one["passages"]
        shown = " ".join(documents[one["index"]][best["start"] : best["end"]].split())
        print(f"{one['relevance_score']:.3f}  {paths[one['index']]}:{best['start']}-{best['end']}  {shown[:100]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
