"""Bi-encoders: the score is the cosine of the query's vector and the passage's.

Any model of sentence-transformers (Reimers and Gurevych 2019), as in Santos et al., with the model's own pooling. A
zero vector scores 0. An empty text has a zero vector: models put it nearer to most queries than texts on other
subjects. Passage vectors do not depend on the query, so they are kept in memory (except for very long documents) and
can be stored with the index (`longrank.index.vectors`).

Each document has its own batches, so its vectors are a function of its passages alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from longrank.errors import LongRankError
from longrank.index.vectors import PassageVectors
from longrank.networks.acceleration import accelerate_by, computed_by
from longrank.networks.backends import check_backend
from longrank.networks.feeding import Feeder, OffsetTokenizer, check_finite
from longrank.networks.loading import choose_device, choose_max_tokens, loading
from longrank.networks.model_files import Model
from longrank.networks.sentence_encoder import Limit, limits_of, load_sentence_encoder, prompts_of, unit_rows
from longrank.protocols import PassageScores, ScoringTask
from longrank.scoring.vectors import Vectors, cosines
from longrank.storage.kept import Kept, key_of
from longrank.text.packing import SEAM, Packed
from longrank.types import Float32s, Notes, Query

if TYPE_CHECKING:
    import torch

_A_TOKEN = Packed(np.zeros(1, np.uint16), np.zeros(1, np.uint8), truncated=False)
"""In place of a text without any token, which networks cannot read: some tokenizers add no special tokens."""
_KEPT_BYTES = 256 << 20  # passage vectors kept in memory
_LARGEST_BYTES = 16 << 20  # vectors of a document, as for 4 MB of text; longer documents keep only scores


class BiEncoder:
    """A bi-encoder of sentence-transformers: the cosine of the passage's vector and the query's, -1 to 1.

    Args:
        model: the model's files.
        max_tokens: longest text, special tokens included; default: the limit.
        limit: ``model``, the smaller of the model's ``max_seq_length`` and the encoder's positions; or ``positions``,
            the encoder's positions alone.
        batch_tokens: padded tokens per batch; default: 2,048 on a CPU, 16,384 on an accelerator.
        device: a torch device, or ``auto``.
        dtype: ``float32``, ``bf16`` or ``int8``, of the encoder's products (`longrank.networks.acceleration`).
        backend: a key of `longrank.networks.backends.BACKENDS`; computes the encoder.
        notes: remarks on the model.

    Raises:
        InputError: the model cannot be loaded, or an option is out of range.
        MissingExtra: sentence-transformers or packages of the backend are not installed.
        IntegrityError: the files of a quantised model are damaged.
    """

    needs_model, scores_documents = True, False
    example, unit = "minilm", "cosine"

    def __init__(
        self,
        model: Model,
        *,
        max_tokens: int | None = None,
        limit: Limit = "model",
        batch_tokens: int | None = None,
        device: str = "auto",
        dtype: str = "float32",
        backend: str = "torch",
        notes: Notes | None = None,
    ) -> None:
        self.model = model
        self._notes = Notes() if notes is None else notes
        device = check_backend(backend, dtype, device)
        with loading(model):
            self._network = load_sentence_encoder(model, choose_device(device), self._notes)
            self._prompts = prompts_of(self._network)
        if (card := getattr(self._network, "model_card_data", None)) is not None:
            card.model = None  # memory in a cycle of references is freed late
        self.max_tokens = choose_max_tokens(model, max_tokens, *limits_of(self._network, limit))
        self.encoder = self._network[0].auto_model
        accelerate_by(backend, self.encoder, model, self._notes, dtype=dtype)
        self._feeder = Feeder(
            self._network.tokenizer,
            self.max_tokens,
            max_query_tokens=self.max_tokens,
            batch_tokens=batch_tokens,
            device=str(self._network.device),
            notes=self._notes,
        )
        where, truncated = self._network.device.type, self._network.truncate_dim
        self._options = (
            f"max_tokens={self.max_tokens} batch_tokens={self._feeder.batch_tokens} device={where} "
            f"{computed_by(dtype, backend)}" + (f" truncate_dim={truncated}" if truncated else "")
        )
        packer, prompt = self._feeder.packer, self._prompts.document
        room = packer.text_room - (packer.leading_tokens(prompt) + SEAM if prompt else 0)
        self.offset_tokenizer = OffsetTokenizer(self._feeder.tokenizer, max(1, room))
        self._stored: PassageVectors | None = None
        self._stored_note = ""
        self._kept = Kept[Vectors](_KEPT_BYTES)

    @property
    def fingerprint(self) -> str:
        """Identity: model, options, and stored vectors where they can change the last bits."""
        return f"bi-encoder {self.model.fingerprint} {self._options}{self._stored_note}"

    @property
    def encoder_fingerprint(self) -> str:
        """Identity of passage vectors: model and options; stored vectors fit if theirs is equal."""
        return f"bi-encoder {self.model.fingerprint} {self._options}"

    @property
    def dimension(self) -> int:
        """H, the number of dimensions: of Matryoshka models (Kusupati et al. 2022), as many as the files tell."""
        return int(self._network.get_embedding_dimension())

    def use_vectors(self, stored: PassageVectors, *, selects: bool) -> None:
        """Take passage vectors from an index instead of encoding passages.

        The caller has checked that they fit (`longrank.index.vectors.find_vectors`). Scores are the same to the last
        bit if all passages of a document are scored. If a selector leaves out some (`selects`), the last bits may
        differ, and the fingerprint tells so.
        """
        self._stored = stored
        self._stored_note = " with stored vectors" if selects else ""

    @property
    def stored(self) -> PassageVectors | None:
        """Vectors of an index that are used instead of encoding passages."""
        return self._stored

    @property
    def has_stored_vectors(self) -> bool:
        """True if passages of an index need no encoding."""
        return self._stored is not None

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the cosine of each passage with its query.

        Raises:
            LongRankError: a vector is not finite; names query, document and passage.
        """
        queries = self._query_vectors({task.query.text: task.query.query_id for task in tasks})
        long: dict[bytes, dict[str, PassageScores]] = {}
        scores = []
        for task, own in zip(tasks, self._passage_vectors(tasks, queries), strict=True):
            query = queries[task.query.text]
            if own is not None:
                scores.append(PassageScores(cosines(own.vectors, query), own.truncated))
            else:
                if (key := key_of(task.texts)) not in long:
                    long[key] = self._scores_of_long(task.texts, queries)
                scores.append(long[key][task.query.text])
            check_finite(scores[-1].scores, task)
        return scores

    def _scores_of_long(self, texts: Sequence[str], queries: Mapping[str, Float32s]) -> dict[str, PassageScores]:
        """Return the scores of a long document's passages for each query, without holding all of their vectors."""

        def scores(rows: NDArray[np.float32]) -> NDArray[np.float32]:
            rows = unit_rows(rows)
            return np.stack([cosines(rows, query) for query in queries.values()], axis=1)

        ((found, truncated),) = self._encode([texts], self._prompts.document, scores)
        return {text: PassageScores(found[:, n].copy(), truncated) for n, text in enumerate(queries)}

    def _passage_vectors(self, tasks: Sequence[ScoringTask], queries: Mapping[str, Float32s]) -> list[Vectors | None]:
        """Return the vectors of each task's passages, from the index, from memory or encoded now.

        None for a document whose vectors would take more than `_LARGEST_BYTES`.
        """
        stored = [self._stored_vectors(task) for task in tasks]
        fits = [len(task.texts) * queries[task.query.text].nbytes <= _LARGEST_BYTES for task in tasks]
        keys = [
            key_of(task.texts) if one is None and small else b""
            for task, one, small in zip(tasks, stored, fits, strict=True)
        ]
        texts = {key: task.texts for key, task in zip(keys, tasks, strict=True) if key}
        known = {key: kept for key in texts if (kept := self._kept.get(key)) is not None}
        fresh = [key for key in texts if key not in known]
        encoded = self._encode([texts[key] for key in fresh], self._prompts.document)
        for key, one in zip(fresh, encoded, strict=True):
            known[key] = one
            self._kept.add(key, one, one.vectors.nbytes)
        return [known.get(key) if one is None else one for key, one in zip(keys, stored, strict=True)]

    def _stored_vectors(self, task: ScoringTask) -> Vectors | None:
        found = None if self._stored is None else self._stored.rows(task.doc_id, task.passages)
        return None if found is None else Vectors(*found)

    def encode(self, documents: Mapping[str, Sequence[str]]) -> list[Vectors]:
        """Return the vectors of all passages of documents, the same as if each document were encoded alone.

        Args:
            documents: doc_id -> the texts of its passages.

        Raises:
            LongRankError: a vector is not finite; names document and passage.
        """
        results = self._encode(list(documents.values()), self._prompts.document)
        for doc_id, result in zip(documents, results, strict=True):
            bad = np.flatnonzero(~np.isfinite(result.vectors).all(axis=1))
            if bad.size:
                raise LongRankError(f"vector of passage {bad[0]} of document {doc_id!r} is not finite")
        return results

    def cuts_query(self, query: str) -> bool:
        """Say whether a part of the query is left out."""
        (packed,) = self._feeder.packer.texts([self._prompts.query + query])
        return packed.truncated

    def query_vector(self, query: Query) -> Float32s:
        """Return the unit vector of a query, float32[H]; a query cut at the model's limit is counted.

        Raises:
            LongRankError: the vector is not finite.
        """
        return self._query_vectors({query.text: query.query_id})[query.text]

    def _query_vectors(self, queries: Mapping[str, str]) -> dict[str, Float32s]:
        """Return the vector of each query, by its text; `queries` are text -> query_id."""
        found = {}
        results = self._encode([[text] for text in queries], self._prompts.query)
        for (text, query_id), (vectors, _) in zip(queries.items(), results, strict=True):
            if not np.isfinite(vectors).all():
                raise LongRankError(f"vector of query {query_id!r} is not finite")
            found[text] = vectors[0]
        return found

    def _encode(
        self,
        documents: Sequence[Sequence[str]],
        prompt: str,
        held: Callable[[NDArray[np.float32]], NDArray[np.float32]] = unit_rows,
    ) -> list[Vectors]:
        """Encode texts and return, of each document, what is to be held of its vectors: a function of each row."""
        from torch import from_numpy

        packed = [list(self._feeder.packer.texts([prompt + text for text in texts])) for texts in documents]
        readable = [[text if len(text.ids) else _A_TOKEN for text in texts] for texts in packed]
        # Some poolings leave the prompt out; they need to know how long it is.
        extra = {"prompt_length": self._feeder.packer.leading_tokens(prompt)} if prompt else {}

        def forward(features: dict[str, torch.Tensor]) -> torch.Tensor:
            rows = self._network({**features, **extra})["sentence_embedding"][:, : self.dimension].float().cpu().numpy()
            return from_numpy(held(np.ascontiguousarray(rows)))

        results = self._feeder.run_apart(readable, forward)
        for rows, texts, tokens in zip(results, documents, packed, strict=True):
            rows[[not (text.strip() and len(own.ids)) for text, own in zip(texts, tokens, strict=True)]] = 0
        return [
            Vectors(rows, np.array([text.truncated for text in texts], dtype=np.bool_))
            for rows, texts in zip(results, packed, strict=True)
        ]
