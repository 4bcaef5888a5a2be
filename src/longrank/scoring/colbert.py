"""Late interaction (ColBERT; Khattab and Zaharia 2020): MaxSim over the token vectors of query and passage.

    score = sum over the query's tokens i of max over the passage's tokens j of <q_i, d_j>

A marker says which text is a query and which a passage. A short query is filled up with ``[MASK]`` tokens, whose
vectors count as terms (query augmentation). Punctuation of passages is left out. Vectors have length 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from longrank.errors import LongRankError
from longrank.networks.acceleration import accelerate, computed_by
from longrank.networks.feeding import Feeder, OffsetTokenizer, check_finite
from longrank.networks.inference import inference
from longrank.networks.late_encoder import load_late_encoder
from longrank.networks.late_settings import read_late_settings
from longrank.networks.loading import choose_device, choose_max_tokens, loading, position_limit
from longrank.networks.model_files import Model
from longrank.protocols import PassageScores, ScoringTask
from longrank.scoring.marked import Marked, QueryFiller, token_ids_of
from longrank.storage.kept import key_of
from longrank.types import Notes

if TYPE_CHECKING:
    import torch


class Colbert:
    """Late interaction (ColBERT): MaxSim over token vectors, the sum over the query's tokens of the best cosine.

    Args:
        model: the model's files, in a layout of `longrank.networks.late_settings`.
        max_tokens: longest passage, special tokens included, up to the encoder's limit; default: the model's.
        max_query_tokens: longest query, special tokens included, and the length of a filled one; default: the model's.
        batch_tokens: padded tokens per batch; default: 2,048 on a CPU, 16,384 on an accelerator.
        device: a torch device, or ``auto``.
        dtype: ``float32`` or ``bf16``, of the encoder's products (`longrank.networks.acceleration`).
        notes: remarks on the model.

    Raises:
        InputError: the model cannot be loaded, is no late-interaction model, or an option is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    needs_model, scores_documents = True, False
    example, unit = "colbert-ir/colbertv2.0", "maxsim"

    def __init__(
        self,
        model: Model,
        *,
        max_tokens: int | None = None,
        max_query_tokens: int | None = None,
        batch_tokens: int | None = None,
        device: str = "auto",
        dtype: str = "float32",
        notes: Notes | None = None,
    ) -> None:
        self.model = model
        self._notes = Notes() if notes is None else notes
        settings = read_late_settings(model, self._notes)
        with loading(model):
            self.encoder, tokenizer, self._projection = load_late_encoder(model, settings, choose_device(device))
        limit = choose_max_tokens(model, None, tokenizer.model_max_length, position_limit(self.encoder))
        self.max_tokens = choose_max_tokens(model, max_tokens or min(limit, settings.document_tokens or limit), limit)
        most = min(limit, settings.most_query_tokens or limit)
        self.max_query_tokens = choose_max_tokens(model, max_query_tokens or most, limit)
        self._plain = self.encoder.forward  # it gives vectors to tokens that no token attends to
        accelerate(self.encoder, dtype=dtype)
        where = self.encoder.device
        self._feeder = Feeder(
            tokenizer,
            self.max_tokens,
            max_query_tokens=1,
            batch_tokens=batch_tokens,
            device=str(where),
            notes=self._notes,
        )
        raw = self._feeder.tokenizer
        self._documents = Marked(raw, settings.document, self.max_tokens)
        self._queries = Marked(raw, settings.query, self.max_query_tokens)
        self._filler = QueryFiller.of(model, tokenizer, settings, max_query_tokens or settings.query_tokens)
        self._skipped = token_ids_of(raw, tokenizer.unk_token_id, settings.skipped)
        self._normalizes = settings.normalizes
        self.offset_tokenizer = OffsetTokenizer(raw, self._documents.room)
        filled = self._filler.length
        self.fingerprint = (
            f"colbert {model.fingerprint} max_tokens={self.max_tokens} max_query_tokens={self.max_query_tokens} "
            + (f"filled={filled} " if filled not in (0, self.max_query_tokens) else "")
            + f"batch_tokens={self._feeder.batch_tokens} device={where.type} {computed_by(dtype, 'torch')}"
        )

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return MaxSim of each passage; a passage is encoded once for all queries of the call.

        Raises:
            LongRankError: a score is not finite; names query, document and passage.
        """
        queries = self._query_vectors({task.query.text: task.query.query_id for task in tasks})
        keys = [key_of(task.texts) for task in tasks]
        texts = dict(zip(keys, (task.texts for task in tasks), strict=True))
        packed = [one for own in texts.values() for one in self._documents.texts(own)]
        found = self._feeder.run(packed, lambda features: self._scores(features, queries))
        truncated = np.array([one.truncated for one in packed], np.bool_)
        bounds = dict(zip(texts, pairwise(accumulate(map(len, texts.values()), initial=0)), strict=True))
        columns, results = {text: n for n, text in enumerate(queries)}, []
        for task, key in zip(tasks, keys, strict=True):
            rows = slice(*bounds[key])
            results.append(PassageScores(found[rows, columns[task.query.text]].copy(), truncated[rows]))
            check_finite(results[-1].scores, task)
        return results

    def cuts_query(self, query: str) -> bool:
        """Say whether a part of the query is left out."""
        (packed,) = self._queries.texts([query])
        return packed.truncated

    def _query_vectors(self, queries: Mapping[str, str]) -> dict[str, torch.Tensor]:
        """Return the token vectors [L, H] of each query by its text; `queries` are text -> query_id."""
        found = {}
        for (text, query_id), packed in zip(queries.items(), self._queries.texts(list(queries)), strict=True):
            filled, attended = self._filler.fill(packed)
            features = self._feeder.features([filled])
            features["attention_mask"][0, attended:] = 0
            with inference(str(self.encoder.device)):
                found[text] = self._vectors(self._plain(**features).last_hidden_state)[0]
            if not found[text].isfinite().all():
                raise LongRankError(f"a token vector of query {query_id!r} is not finite")
        return found

    def _scores(self, features: dict[str, torch.Tensor], queries: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return MaxSim [B, Q] of padded passages with each query."""
        import torch

        vectors = self._vectors(self.encoder(**features).last_hidden_state)
        skipped = torch.tensor(self._skipped, device=vectors.device)
        left_out = (features["attention_mask"] == 0) | torch.isin(features["input_ids"], skipped)
        columns = []
        for query in queries.values():
            similarities = (vectors @ query.T).masked_fill(left_out[:, :, None], -torch.inf)
            columns.append(similarities.amax(dim=1).sum(dim=1))
        return torch.stack(columns, dim=1)

    def _vectors(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return token vectors [..., L, M] of hidden states [..., L, H]."""
        from torch.nn.functional import normalize

        vectors: torch.Tensor = self._projection(hidden.float())
        return normalize(vectors, dim=-1) if self._normalizes else vectors
