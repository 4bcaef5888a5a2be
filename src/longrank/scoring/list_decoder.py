"""A decoder that arranges a list of passages by a prompt, as RankGPT asks (Sun et al. 2023); greedy, so repeatable.

The prompt is the message of a user in the model's chat template, if it has one. Query and passages are data: special
tokens in them become blanks, and ``[3]``, which looks like an answer, becomes ``(3)``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from longrank.errors import InputError, first_line
from longrank.networks.checks import check_weights
from longrank.networks.inference import inference, note_precision
from longrank.networks.loading import choose_device, choose_max_tokens, forget_habits, loading, position_limit
from longrank.networks.model_files import Model
from longrank.networks.pretrained import load_pretrained
from longrank.registries import check_at_least
from longrank.storage import digest_of
from longrank.types import Notes

_BEFORE = "Rank the {n} passages below by their relevance to the query: {query}\n"
_AFTER = (
    "Query: {query}\nList all identifiers, the most relevant passage first, such as [2] > [1]. Write nothing else.\n"
)
_TOKENS_PER_PLACE = 6  # "[12] > "
_RENDERING: dict[str, Any] = {
    "tokenize": False,
    "enable_thinking": False,  # of Qwen3: the answer has no room for thoughts
    "strftime_now": datetime(2024, 7, 26, tzinfo=UTC).strftime,  # of Llama 3.2: the prompt is the same on every day
}
_IDENTIFIER = re.compile(r"\[(\d+)\]")


class ListDecoder:
    """A decoder whose greedy answer orders passages.

    Args:
        model: the model's files.
        max_tokens: longest prompt and answer together; default: the model's limit.
        max_passage_tokens: longest passage; less if the prompt would not fit.
        device: a torch device, or ``auto``.
        notes: counts cut passages, and prompts with a cut query.

    Raises:
        InputError: the model cannot be loaded, or an option is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    example = "castorini/rank_zephyr_7b_v1_full"

    def __init__(
        self,
        model: Model,
        *,
        max_tokens: int | None = None,
        max_passage_tokens: int = 300,
        device: str = "auto",
        notes: Notes | None = None,
    ) -> None:
        check_at_least("max_passage_tokens", max_passage_tokens, 1)
        self._notes = Notes() if notes is None else notes
        with loading(model):
            network, self._tokenizer, missing = load_pretrained(model, "AutoModelForCausalLM")
            check_weights(model.path, network, self._tokenizer, missing)
            forget_habits(network)
            self._network = network.to(choose_device(device))
        self.max_tokens = choose_max_tokens(
            model, max_tokens, self._tokenizer.model_max_length, position_limit(network)
        )
        self._longest, self._folder = max_passage_tokens, model.path
        special = sorted(token.content for token in self._tokenizer.added_tokens_decoder.values() if token.special)
        self._special = re.compile("|".join(map(re.escape, reversed(special))) or "(?!)")
        template = self._tokenizer.chat_template
        self._templated = template is not None and (not isinstance(template, dict) or "default" in template)
        told = digest_of(template)[:8] if self._templated else "none"
        self.fingerprint = (
            f"list-decoder 2 {model.fingerprint} template={told} max_tokens={self.max_tokens} passage={self._longest} "
            f"device={self._network.device.type}"
        )

    def arrange(self, query: str, texts: Sequence[str]) -> str:
        """Return the answer: the order of the texts, ``[2] > [1]``.

        Raises:
            InputError: the prompt has no room for so many texts.
        """
        import torch

        answer = _TOKENS_PER_PLACE * len(texts)
        query, *texts = map(self._as_data, (query, *texts))
        inputs = torch.tensor([self._fitted(query, texts, self.max_tokens - answer)], device=self._network.device)
        note_precision(self._network.device.type, self._notes)
        with inference(self._network.device.type):
            written = self._network.generate(
                input_ids=inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=answer,
                do_sample=False,
                num_beams=1,
                pad_token_id=self._tokenizer.pad_token_id or 0,
            )
        text: str = self._tokenizer.decode(written[0, inputs.shape[1] :], skip_special_tokens=True)
        return text.strip()

    def check_room(self, n: int) -> None:
        """Refuse a number of passages that no prompt has room for, however short they are.

        Raises:
            InputError: names the limit of the prompt.
        """
        if n and self._n_tokens("", ["x"] * n) > self.max_tokens - _TOKENS_PER_PLACE * n:
            raise self._no_room(n)

    def _no_room(self, n: int) -> InputError:
        what = f"a prompt of {self.max_tokens} tokens has no room for {n} passages"
        return InputError(what, fix="choose a smaller --window, or a model with a larger limit")

    def _fitted(self, query: str, texts: Sequence[str], limit: int) -> list[int]:
        """Return the tokens of a whole prompt; if it is too long, the query has half of what is free at most.

        Then the longest texts are cut, to the same number of tokens.
        """

        def cut(longest: int) -> list[str]:
            return [self._cut(text, longest) for text in texts]

        def is_too_long(longest: int) -> bool:
            return self._n_tokens(asked, cut(longest)) > limit

        asked, most = query, self._longest
        if is_too_long(most):
            free = limit - self._n_tokens("", [""] * len(texts))
            asked = self._cut(query, free // 4)  # it stands in the prompt twice
            most = bisect_left(range(1, most + 1), True, key=is_too_long)
        for longest in range(most, 0, -1):
            read = cut(longest)
            if self._n_tokens(asked, read) <= limit:  # a text with fewer tokens can have more within the prompt
                self._notes.add("prompts of lists with a cut query", query[:40], asked != query)
                for text, beginning in zip(texts, read, strict=True):
                    self._notes.add("passages cut, to list them in a prompt", text[:40], beginning != text)
                return self._ids(self._prompt(asked, read))
        raise self._no_room(len(texts))

    def _n_tokens(self, query: str, texts: Sequence[str]) -> int:
        return len(self._ids(self._prompt(query, texts)))

    def _prompt(self, query: str, texts: Sequence[str]) -> str:
        passages = "".join(f"[{n}] {text}\n" for n, text in enumerate(texts, 1))
        return _BEFORE.format(n=len(texts), query=query) + passages + _AFTER.format(query=query)

    def _as_data(self, text: str) -> str:
        return _IDENTIFIER.sub(r"(\1)", self._special.sub(" ", text))

    def _ids(self, prompt: str) -> list[int]:
        """Return the tokens that the model reads.

        Raises:
            InputError: the model's chat template takes no message of a user.
        """
        text = self._in_template(prompt) if self._templated else prompt
        ids: list[int] = self._tokenizer(text, add_special_tokens=not self._templated)["input_ids"]
        return ids

    def _in_template(self, prompt: str) -> str:
        messages = [{"role": "user", "content": prompt}]
        try:
            return str(self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, **_RENDERING))
        except Exception as error:  # whatever the template raises
            what = f"the model's chat template takes no message of a user: {first_line(error)}"
            raise InputError(what, path=self._folder, fix="use a model that follows instructions") from None

    def _cut(self, text: str, room: int) -> str:
        """Return the first `room` tokens of a text, at least one."""
        offsets = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        room = max(room, 1)
        return text[: offsets[room - 1][1]] if len(offsets) > room else text
