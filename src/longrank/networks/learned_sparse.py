"""Learned sparse vectors (SPLADE; Formal et al. 2021): a weight for each token of a vocabulary.

Any model of sentence-transformers' ``SparseEncoder``, with its own pooling. Inference-free models, whose router reads
queries by a table of weights (``SparseStaticEmbedding``), encode queries without a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, LongRankError
from longrank.networks.checks import check_weights, read_json
from longrank.networks.feeding import Feeder, OffsetTokenizer
from longrank.networks.inference import inference, note_precision
from longrank.networks.loading import choose_device, choose_max_tokens, loading, own_weights, position_limit
from longrank.networks.model_files import Model, module_folders
from longrank.networks.module_settings import check_plain, check_reading
from longrank.networks.padding import check_padding
from longrank.networks.sentence_encoder import missing_weights, prompts_of
from longrank.small_files import CONFIG, read_small
from longrank.text.packing import SEAM
from longrank.types import Float32s, Notes, Query

if TYPE_CHECKING:
    import torch

_BATCH_TOKENS = 1024  # padded; the logits of a token take 120 KB in a vocabulary of 30,000
_TEXTS = 256  # texts whose rows of the whole vocabulary are held at a time


class SparseRows(NamedTuple):
    """Sparse vectors of N texts.

    Attributes:
        lengths: int64[N], weights of each text.
        terms: int32[sum of lengths], numbers in the vocabulary, ascending in each text.
        weights: float32[sum of lengths], none 0.
        truncated: bool[N], texts that were cut.
    """

    lengths: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: Float32s
    truncated: NDArray[np.bool_]


class SparseModel:
    """A model of sentence-transformers' ``SparseEncoder``, in float32.

    Args:
        model: the model's files.
        notes: counts queries that were cut.

    Attributes:
        weights: identity of a text's weights: the model, and how many of them are kept.
        fingerprint: identity of stored vectors.

    Raises:
        InputError: the model cannot be loaded, is no sparse encoder, or its vectors depend on padding.
        MissingExtra: torch or sentence-transformers are not installed.
    """

    def __init__(self, model: Model, notes: Notes) -> None:
        self.model = model
        with loading(model):
            self._network = _load(model, choose_device("auto"))
            reader = reader_of(self._network, "document")
            tokenizer, encoder = reader.tokenizer, reader.auto_model
            check_weights(model.path, encoder, tokenizer, missing_weights(model, encoder))
            for folder in module_folders(model.path) or [model.path]:
                check_reading(folder)
                check_plain(folder)
            check_padding(model, _Padded(self._network, encoder), tokenizer, self._forward, "a")
        self.max_tokens = choose_max_tokens(model, None, reader.max_seq_length, position_limit(encoder))
        self._feeder = Feeder(
            tokenizer,
            self.max_tokens,
            max_query_tokens=1,
            batch_tokens=_BATCH_TOKENS,
            device=str(encoder.device),
            notes=notes,
        )
        self._prompt, packer = prompts_of(self._network).document, self._feeder.packer
        used = packer.leading_tokens(self._prompt) + SEAM if self._prompt else 0
        self.offset_tokenizer = OffsetTokenizer(self._feeder.tokenizer, max(1, packer.text_room - used))
        most = self._network.max_active_dims
        self.weights = f"sparse {model.fingerprint}" + ("" if most is None else f" max_active_dims={most}")
        self.fingerprint = f"{self.weights} max_tokens={self.max_tokens} device={encoder.device.type}"

    def encode(self, texts: Sequence[str]) -> SparseRows:
        """Return the vectors of a document's passages, which have batches of their own.

        Raises:
            LongRankError: a weight is not finite; names the passage by its place.
        """
        parts = [self._encode(texts[start : start + _TEXTS]) for start in range(0, len(texts), _TEXTS)]
        lengths, terms, weights, truncated = (np.concatenate(part) for part in zip(*parts, strict=True))
        bad = np.flatnonzero(~np.isfinite(weights))
        if bad.size:
            place = int(np.searchsorted(np.cumsum(lengths), bad[0], side="right"))
            raise LongRankError(f"a sparse weight of passage {place} is not finite")
        return SparseRows(lengths, terms, weights, truncated)

    def query_weights(self, query: Query, notes: Notes) -> tuple[NDArray[np.int32], Float32s]:
        """Return the terms of a query, ascending, and their weights; a query cut at the model's limit is counted.

        Raises:
            LongRankError: a weight is not finite.
        """
        reader = reader_of(self._network, "query")
        network = hasattr(reader, "auto_model")  # else a table of weights, which reads no special tokens
        limit = self.max_tokens if network else int(reader.max_seq_length)
        text = prompts_of(self._network).query + query.text
        ids = reader.tokenizer(text, truncation=False, add_special_tokens=network, verbose=False)["input_ids"]
        if len(ids) > limit:
            notes.add(f"queries cut at the model's {limit} tokens", f"query {query.query_id}")
        note_precision(str(self._network.device), notes)
        with inference(str(self._network.device)):
            row = self._network.encode_query([query.text], convert_to_sparse_tensor=False, show_progress_bar=False)
        weights = row[0].float().cpu().numpy()
        if not np.isfinite(weights).all():
            raise LongRankError(f"a sparse weight of query {query.query_id!r} is not finite")
        terms = np.flatnonzero(weights)
        return terms.astype(np.int32), weights[terms].astype(np.float32)

    def _encode(self, texts: Sequence[str]) -> SparseRows:
        packed = list(self._feeder.packer.texts([self._prompt + text for text in texts]))
        rows = self._feeder.run(packed, self._forward)
        rows[[not text.strip() for text in texts]] = 0  # an empty text has no term
        places, terms = np.nonzero(rows)
        lengths = np.bincount(places, minlength=len(texts)).astype(np.int64)
        truncated = np.array([text.truncated for text in packed], np.bool_)
        return SparseRows(lengths, terms.astype(np.int32), rows[places, terms], truncated)

    def _forward(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        from sentence_transformers.util import select_max_active_dims

        with inference(str(self._network.device)):
            rows = self._network(dict(features), task="document")["sentence_embedding"]
            kept: torch.Tensor = select_max_active_dims(rows, self._network.max_active_dims)
        return kept.float()


class _Padded(NamedTuple):
    """A network with the attributes of its encoder that the check of the padding reads."""

    network: Any
    encoder: Any

    @property
    def config(self) -> Any:
        """The encoder's configuration."""
        return self.encoder.config

    @property
    def device(self) -> Any:
        """The encoder's device."""
        return self.encoder.device

    @property
    def dtype(self) -> Any:
        """The encoder's dtype."""
        return self.encoder.dtype


def reader_of(network: Any, task: str) -> Any:
    """Return the first module of the texts of a task, ``query`` or ``document``."""
    first = network[0]
    routes = getattr(first, "sub_modules", None)
    return first if routes is None else routes[task if task in routes else first.default_route][0]


def _check_kind(model: Model) -> None:
    """Refuse models without the pooling of SPLADE: sentence-transformers would add layers of random weights."""
    files = [model.path / name for name in ("modules.json", "router_config.json")]
    texts = [read_small(path, CONFIG, "a model's settings").decode() for path in files if path.is_file()]
    architectures = read_json(model.network / "config.json").get("architectures") or [""]
    bare = not texts and str(architectures[0]).endswith("ForMaskedLM")
    if not bare and not any("SpladePooling" in text for text in texts):
        fix = "use a SPLADE model, such as ibm-granite/granite-embedding-30m-sparse"
        raise InputError("is no sparse encoder", path=model.path, fix=fix)


def _load(model: Model, device: str) -> Any:
    from sentence_transformers import SparseEncoder

    _check_kind(model)

    network = SparseEncoder(
        str(model.path),
        device=device,
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs={"use_safetensors": True},
    )
    if not hasattr(reader_of(network, "document"), "auto_model"):
        raise InputError("has no network that reads documents", path=model.path, fix="use a SPLADE model")
    network = network.float().eval()
    own_weights(network)
    return network
