"""Scorer for networks that aggregate passages: PARADE, KNRM, CEDR, Birch-Passage and others.

For the evidence it gives, besides the document's score, the contribution of each passage and, as the passage's score,
the score of a document of this passage alone (`longrank.models.network_reader`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.models.description import check_trained, describe
from longrank.models.network_reader import NetworkReader, query_limit
from longrank.networks.acceleration import accelerate, check_dtype
from longrank.networks.loading import choose_device, choose_max_tokens, loading, position_limit
from longrank.networks.model_files import Model
from longrank.networks.padding import check_network
from longrank.protocols import PassageScores, ScoringTask
from longrank.scoring.score_cache import CACHED
from longrank.types import Notes


class DocumentNetworkScorer:
    """A document network (`longrank.models`): query and passages in, the score of the document out.

    Args:
        model: a folder with a document network, as ``longrank create`` writes it.
        network: the network that the folder must hold, a key of `longrank.models.DOCUMENT_NETWORKS`.
        allow_untrained: score with a network that has never been trained.
        max_tokens: longest query and passage together; default: the encoder's limit.
        max_query_tokens: longest query; default: the network's limit if it has one, else 64.
        batch_tokens: padded tokens per batch; default: 2,048 on a CPU, 16,384 on an accelerator.
        device: a torch device, or ``auto``.
        dtype: ``float32`` or ``bf16``, of the encoder's products (`longrank.networks.acceleration`).
        notes: remarks on the model.

    Raises:
        InputError: the folder cannot be loaded, or holds another network, or an untrained one that is not allowed;
            or an option is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    needs_model, scores_documents = True, True
    example = "./parade"

    def __init__(
        self,
        model: Model,
        *,
        network: str | None = None,
        allow_untrained: bool = False,
        max_tokens: int | None = None,
        max_query_tokens: int | None = None,
        batch_tokens: int | None = None,
        device: str = "auto",
        dtype: str = "float32",
        notes: Notes | None = None,
    ) -> None:
        self.model = model
        self._notes = Notes() if notes is None else notes
        self._check_kind(network)
        check_trained(model.name, model.path, allow_untrained, self._notes)
        with loading(model):
            device = choose_device(device)
            check_dtype(dtype, device)
            loaded, tokenizer = self._load(device)
        self.unit, encoder = loaded.unit, loaded.encoder
        self.max_tokens = choose_max_tokens(model, max_tokens, tokenizer.model_max_length, position_limit(encoder))
        queries = query_limit(loaded, max_query_tokens)
        accelerate(encoder, dtype=dtype, first_only=loaded.first_only)
        self._reader = NetworkReader(
            loaded,
            tokenizer,
            max_tokens=self.max_tokens,
            max_query_tokens=queries,
            batch_tokens=batch_tokens,
            notes=self._notes,
            path=model.path,
        )
        self.offset_tokenizer, self.packer = self._reader.offset_tokenizer, self._reader.packer
        self._dtype = dtype
        self.fingerprint = (
            f"document-network {model.fingerprint} max_tokens={self.max_tokens} max_query_tokens={queries} "
            f"batch_tokens={self._reader.batch_tokens} device={encoder.device.type} dtype={dtype}"
        )

    def use_cache(self, path: Path) -> None:
        """Keep the encoder's outputs in a file, for this and other networks on the encoder (`NetworkReader`)."""
        self._reader.use_cache(path, self._dtype)
        self.fingerprint += CACHED

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return each document's score, and its passages' single scores and contributions.

        Raises:
            InputError, LongRankError: as `NetworkReader.score`.
        """
        return self._reader.score(tasks)

    def cuts_query(self, query: str) -> bool:
        """Say whether the query is cut."""
        return self.packer.cuts_query(query)

    def _check_kind(self, network: str | None) -> None:
        stored = describe(self.model.path)["network"]
        if network is not None and stored != network:
            raise InputError(
                f"holds the document network {stored}, and the pipeline needs {network}",
                path=self.model.path,
                fix=f"choose the pipeline {stored}",
            )

    def _load(self, device: str) -> tuple[Any, Any]:
        """Return the network, on the device, and its tokenizer."""
        from longrank.models.folders import load_network

        network, tokenizer, _ = load_network(self.model.path)
        check_network(self.model, network, tokenizer)
        return network.to(device), tokenizer
