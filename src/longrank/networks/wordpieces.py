"""Count the wordpieces of a text by a model's tokenizer, without loading the network."""

from __future__ import annotations

import sys
from collections.abc import Callable

from longrank.errors import InputError
from longrank.networks.feeding import OffsetTokenizer, backend_of
from longrank.networks.loading import loading
from longrank.networks.model_files import find_model
from longrank.text.windows import wordpieces


def wordpiece_counter(name: str) -> Callable[[str], int]:
    """Return a function from a text to its number of wordpieces, without special tokens and without truncation.

    Args:
        name: a model, as `find_model` takes it.

    Raises:
        InputError: as `find_model`; or the model's tokenizer is not of the tokenizers library.
        MissingExtra: transformers is not installed.
    """
    model = find_model(name)
    with loading(model):
        import transformers

        options = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(model.network), **options)
        if getattr(tokenizer, "backend_tokenizer", None) is None:
            raise InputError("the model's tokenizer has no tokenizer.json and cannot be converted", path=model.path)
    backend = backend_of(tokenizer)
    backend.no_truncation()
    backend.no_padding()
    counted = OffsetTokenizer(backend, room=sys.maxsize)
    return lambda text: len(wordpieces(text, counted))
