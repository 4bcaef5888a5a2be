"""The server that one writes in ten minutes: FastAPI, one endpoint, sentence-transformers' ``CrossEncoder.predict``.

    python -m benchmarks.service_peer MODEL [--threads 2]

Takes a query and the passages of each document; answers with the documents, ranked by their best passage.
"""

from __future__ import annotations

import argparse
import socket
from typing import Any

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import CrossEncoder


class Request(BaseModel):
    """A query, and for each document its passages."""

    query: str
    passages: list[list[str]]


def peer_app(model: str) -> FastAPI:
    """Return the application."""
    network = CrossEncoder(model, device="cpu", local_files_only=True)
    app = FastAPI()

    @app.post("/rerank")
    def rerank(request: Request) -> list[dict[str, Any]]:
        pairs = [(request.query, text) for document in request.passages for text in document]
        scores = iter(network.predict(pairs, show_progress_bar=False).tolist())
        best = [max(next(scores) for _ in document) for document in request.passages]
        order = sorted(range(len(best)), key=lambda n: -best[n])
        return [{"index": n, "relevance_score": best[n]} for n in order]

    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the folder of a cross-encoder")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    app = peer_app(args.model)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}\nready", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
