"""Base of sequence-to-sequence and decoder rerankers: a prompt, and the logits of two words as its answer.

The logits of two possible next words, such as "true" and "false", are scored like the outputs of a cross-encoder
(`longrank.scoring.relevance`). The output layer keeps only the rows of these words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.networks.acceleration import check_dtype, to_bf16
from longrank.networks.checks import check_weights, modules_of, read_json
from longrank.networks.dense import use_onednn
from longrank.networks.feeding import Feeder, OffsetTokenizer
from longrank.networks.hub import note_unfetched
from longrank.networks.loading import choose_device, choose_max_tokens, loading, position_limit
from longrank.networks.model_files import Model
from longrank.networks.padding import check_padding
from longrank.networks.pretrained import load_pretrained
from longrank.protocols import PassageScores, ScoringTask
from longrank.registries import check_at_least, suggestion
from longrank.scoring.relevance import check_score, per_task, score_of
from longrank.text.prompts import PromptPacker, Template
from longrank.types import Notes

if TYPE_CHECKING:
    import torch

DEFAULT_MAX_QUERY_TOKENS = 256


class Prompt(NamedTuple):
    """A prompt with {query} and {passage}, the words for relevant and not relevant, and the score."""

    template: str
    positive: str
    negative: str
    score: str = "logprob"


class PromptedScorer(ABC):
    """Scores passages by a language model's answer to a prompt.

    Args:
        model: the model's files.
        prompt: a name in `prompts`, or a text with {query} and {passage}; default: the first of `prompts`.
        positive: the word that means relevant; default: the prompt's. Words are single tokens, written as at the
            beginning of a text, or as in the vocabulary, with ▁ or Ġ.
        negative: the word that means not relevant.
        score: one of `longrank.scoring.relevance.SCORES`, of the logits (negative, positive); default: the
            prompt's.
        max_tokens: longest prompt; default: the model's limit.
        max_query_tokens: longest query.
        batch_tokens: padded tokens per batch; default: 2,048 on a CPU, 16,384 on an accelerator.
        device: a torch device, or ``auto``.
        dtype: ``float32`` or ``bf16``, of all layers except the output layer.
        notes: remarks on the model.

    Raises:
        InputError: the model cannot be loaded, a word is not one token or not that of the model's files, their prompt
            or score may be others, or an option is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    needs_model, scores_documents, reads_pairs = True, False, True
    name: ClassVar[str]
    family: ClassVar[str]
    prompts: ClassVar[Mapping[str, Prompt]]

    def __init__(
        self,
        model: Model,
        *,
        prompt: str | None = None,
        positive: str | None = None,
        negative: str | None = None,
        score: str | None = None,
        max_tokens: int | None = None,
        max_query_tokens: int = DEFAULT_MAX_QUERY_TOKENS,
        batch_tokens: int | None = None,
        device: str = "auto",
        dtype: str = "float32",
        notes: Notes | None = None,
    ) -> None:
        check_at_least("max_query_tokens", max_query_tokens, 1)
        chosen = self._choose_prompt(prompt)
        self.unit = chosen.score if score is None else score
        check_score(self.unit)
        self.model, self._notes = model, Notes() if notes is None else notes
        with loading(model):
            check_dtype(dtype, choose_device(device).partition(":")[0])
            self._network, tokenizer = self._load(device, dtype)
        self.max_tokens = choose_max_tokens(
            model, max_tokens, tokenizer.model_max_length, position_limit(self._network)
        )
        where = self._network.device
        self._feeder = Feeder(
            tokenizer,
            self.max_tokens,
            max_query_tokens=max_query_tokens,
            batch_tokens=batch_tokens,
            device=str(where),
            notes=self._notes,
        )
        words = (chosen.negative if negative is None else negative, chosen.positive if positive is None else positive)
        raw = self._feeder.tokenizer
        self._packer = PromptPacker(raw, chosen.template, self.max_tokens, max_query_tokens)
        self.offset_tokenizer = OffsetTokenizer(raw, self._packer.passage_room)
        tokens = _tokens_of(model, raw, tokenizer.unk_token_id, words)
        for path in (place / "config.json" for kind, place in modules_of(model.path) if kind == "LogitScore"):
            self._check_stated(path, raw, tokens, chosen=positive is not None and negative is not None)
            if prompt is None:
                self._check_template(tokenizer, chosen.template)
        _keep_answers(self._network, tokens, dtype)
        self.fingerprint = (
            f"{self.name} {model.fingerprint} prompt={chosen.template!r} words={'/'.join(words)} score={self.unit} "
            f"max_tokens={self.max_tokens} max_query_tokens={max_query_tokens} "
            f"batch_tokens={self._feeder.batch_tokens} device={where.type} dtype={dtype}"
        )

    def _load(self, device: str, dtype: str) -> tuple[Any, Any]:
        network, tokenizer, missing = load_pretrained(self.model, self.family, dtype)
        check_weights(self.model.path, network, tokenizer, missing)
        self.check(network)
        check_padding(self.model, network, tokenizer, partial(self._answer, network), "a")
        return network.to(choose_device(device)), tokenizer

    def _check_stated(self, path: Path, raw: Any, tokens: Sequence[int], *, chosen: bool) -> None:
        """Compare the words, [not relevant, relevant], with those of sentence-transformers' LogitScore in a file.

        Raises:
            InputError: they are others, and were not chosen by options; or the model's score is a single logit, and
                the score is another.
        """
        settings = read_json(path)
        stated = [settings.get("false_token_id"), settings.get("true_token_id")]
        if all(known in (None, token) for known, token in zip(stated, tokens, strict=True)):
            if stated[0] is None and self.unit != "logit":
                what = "the model's score is the logit of the word for relevant alone"
                raise InputError(what, path=path, got=f"score={self.unit}", fix="set the option score=logit")
            return
        words = " and ".join(repr(raw.id_to_token(n)) for n in stated[::-1] if isinstance(n, int))
        what = f"the words for relevant and not relevant in the model's files are {words}"
        if not chosen:
            fix = "set the options positive and negative to them, and prompt to the text of the model's card"
            raise InputError(what, path=path, fix=fix)
        self._notes.say(f"{what}, and others were chosen")

    def _check_template(self, tokenizer: Any, template: str) -> None:
        """Refuse a reranker of sentence-transformers whose files have another prompt; say if they have none.

        Args:
            tokenizer: the model's tokenizer.
            template: the prompt with {query} and {passage}.

        Raises:
            InputError: its chat template, or its default prompt, makes another text of a query and a passage.
        """
        top = self.model.path / "config_sentence_transformers.json"
        settings = read_json(top) if top.is_file() else {}
        name = settings.get("default_prompt_name")
        known = " or ".join(self.prompts)
        if name is None and getattr(tokenizer, "chat_template", None) is None:
            note_unfetched(self.model.name, self.model.path, self._notes)
            self._notes.say(f"the model's files have no prompt, and none was chosen ({known}): {template!r} is used")
            return
        own = _rendered(tokenizer, (settings.get("prompts") or {}).get(name))
        if own != template:
            what = "the model's files have " + ("a chat template" if name is None else f"the default prompt {name!r}")
            fix = f"set the option prompt to their text with {{query}} and {{passage}}, or to its name: {known}"
            raise InputError(f"{what}, and the prompt may be another", path=self.model.path, got=own, fix=fix)

    @abstractmethod
    def next_logits(self, network: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits of the words that may come next, for prompts int64[B, L], padded at the end."""

    @abstractmethod
    def check(self, network: Any) -> None:
        """Refuse networks that `next_logits` does not support.

        Raises:
            InputError: the network is refused.
        """

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the score of each passage; batches are formed among all passages of the call.

        Raises:
            LongRankError: a score is not finite; names query, document and passage.
        """
        if not tasks:
            return []
        packed = [text for task in tasks for text in self._packer.prompts(task.query.text, task.texts)]
        logits = self._feeder.run(packed, partial(self._answer, self._network))
        return per_task(tasks, packed, score_of(logits, self.unit))

    def cuts_query(self, query: str) -> bool:
        """Say whether the query is cut."""
        return self._packer.cuts_query(query)

    def logits(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return the logits of the two words for a query and its passages, float32[P, 2]: not relevant, relevant."""
        return self._feeder.run(list(self._packer.prompts(query, passages)), partial(self._answer, self._network))

    def _answer(self, network: Any, features: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.next_logits(network, features["input_ids"], features["attention_mask"])

    def _choose_prompt(self, prompt: str | None) -> Prompt:
        default = next(iter(self.prompts.values()))
        if prompt is None:
            return default
        if prompt in self.prompts:
            return self.prompts[prompt]
        if "{" not in prompt:
            raise InputError("unknown prompt", got=prompt, fix=suggestion(prompt, list(self.prompts)))
        Template.of(prompt)  # refused before a network is loaded
        return default._replace(template=prompt)


def _rendered(tokenizer: Any, system: str | None) -> str | None:
    """Return the text that sentence-transformers makes of {query} and {passage} by a chat template; None: none."""
    messages = [{"role": "query", "content": "{query}"}, {"role": "document", "content": "{passage}"}]
    if system:
        messages = [{"role": "system", "content": system}, *messages]
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    except Exception:  # no template, or what Jinja raises for one that is made for other roles
        return None


def _keep_answers(network: Any, tokens: Sequence[int], dtype: str) -> None:
    """Reduce the output layer to the rows of `tokens`, and compute all other layers in `dtype`."""

    from longrank.scoring.head_modules import AnswerHead

    head = AnswerHead(network.get_output_embeddings(), tokens)
    if dtype == "bf16":
        to_bf16(network)
    network.set_output_embeddings(head)
    if getattr(network, "final_logits_bias", None) is not None:  # of BART and similar models, [1, vocabulary]
        network.final_logits_bias = network.final_logits_bias[:, list(tokens)].float()
    use_onednn(network)


def _tokens_of(model: Model, raw: Any, unknown: int | None, words: Sequence[str]) -> list[int]:
    """Return the token ids of `words`.

    Raises:
        InputError: a word is several tokens or unknown, or both words are the same.
    """
    tokens = []
    for word in words:
        ids: list[int] = raw.encode(word, add_special_tokens=False).ids
        if word.startswith(("▁", "Ġ")) and (listed := raw.token_to_id(word)) is not None:
            ids = [listed]
        if len(ids) != 1 or ids[0] == unknown:
            raise InputError(
                f"'{word}' is not one token for '{model.name}', so its next-token probability is undefined",
                got=" ".join(raw.id_to_token(n) for n in ids) or "no token",
                fix="set the options positive and negative to the words of its training",
            )
        tokens += ids
    if len(set(tokens)) < len(tokens):
        raise InputError("the words for relevant and not relevant are the same", got=words[0])
    return tokens
