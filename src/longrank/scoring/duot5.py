"""duoT5: the probability that one passage is more relevant than another (Pradeep, Nogueira and Lin 2021).

Query: {query} Document0: {first} Document1: {second} Relevant:      true: the first; false: the second
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from longrank.scoring.monot5 import MonoT5
from longrank.scoring.prompted import Prompt
from longrank.scoring.relevance import score_of
from longrank.text.packing import SEAM
from longrank.types import Float32s

PROMPTS = MappingProxyType({"duot5": Prompt("Query: {query} Document0: {passage} Relevant:", "true", "false", "prob")})
_BETWEEN = " Document1: "


class DuoT5(MonoT5):
    """DuoT5: compares two passages; the options are those of `MonoT5`."""

    example = "castorini/duot5-base-msmarco"
    name, prompts = "duot5", PROMPTS

    def prefer(self, query: str, pairs: Sequence[tuple[str, str]]) -> Float32s:
        """Return the probability that the first passage of each pair is more relevant, float32[N].

        A passage longer than half of the room for both is cut there; cut passages, and a cut query, are counted.
        """
        limit = f"queries cut at the scorer's {self._packer.max_query_tokens} tokens"
        self._notes.add(limit, query[:40], int(self.cuts_query(query)))
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        read = {text: self._half(query, text) for text in texts}
        cut = [text for text in texts if read[text] != text]
        self._notes.add("passages cut, to compare two of them in a prompt", next(iter(cut), "")[:40], len(cut))
        joined = [f"{read[first]}{_BETWEEN}{read[second]}" for first, second in pairs]
        logits = self.logits(query, joined)
        return score_of(logits, "prob")

    def _half(self, query: str, text: str) -> str:
        """Return the beginning of a passage, at most half of the room beside query and prompt."""
        tokenizer = self._feeder.tokenizer
        between = len(tokenizer.encode(_BETWEEN, add_special_tokens=False).ids)
        room = max(1, (self._packer.room_beside(query) - between - 2 * SEAM) // 2)
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= room else text[: offsets[room - 1][1]]
