"""Graphs of encoders: exported once for each model and version, checked, and kept in the user's cache folder.

    exports/<backend>-<digest of model, network class and package versions>/
        encoder.*        the graph with its weights
        manifest.json    the key of the graph and a checksum of each file; written last

A graph is written to a hidden folder that is renamed when complete, so two processes may export at once. The next
export removes the hidden folder of a killed process. A damaged graph is exported again.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError, IntegrityError, first_line
from longrank.networks.backends import BACKENDS
from longrank.networks.backends.agreement import agrees, random_batch
from longrank.networks.backends.forward import load_graph
from longrank.networks.model_files import Model
from longrank.storage import MANIFEST, digest_of, verify, write_manifest
from longrank.storage.cache import cache_folder
from longrank.storage.temporaries import temporary_folder
from longrank.types import Notes

if TYPE_CHECKING:
    import torch

_FORMAT = 1
_EXAMPLE = (2, 7)  # sequences, tokens


def exported_folder(encoder: Any, model: Model, backend: str, notes: Notes) -> Path:
    """Return the folder of an encoder's graph; export it if the cache has none or a damaged one.

    Args:
        encoder: a transformers model without head, float32, on the CPU, as it was loaded.
        model: the encoder's files.
        backend: a key of `BACKENDS`, other than ``torch``.
        notes: names exported and damaged graphs.

    Raises:
        InputError: the encoder cannot be exported, the graph's results differ, or the cache is not writable.
    """
    versions = {name: version(name) for name in ("torch", "transformers", *BACKENDS[backend].packages)}
    network = type(encoder).__name__
    key = {"format": _FORMAT, "model": model.fingerprint, "network": network, "backend": backend, **versions}
    folder = cache_folder() / "exports" / f"{backend}-{digest_of(key)[:32]}"
    if _is_whole(folder, notes):
        return folder
    with ExitStack() as stack:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            work = stack.enter_context(temporary_folder(folder))
        except OSError as error:
            raise InputError(f"the cache cannot be written to: {error.strerror or error}", path=folder.parent) from None
        new = work / "new"
        new.mkdir()
        _export(encoder, model, backend, new)
        write_manifest(new, key)
        _put(new, folder)
    notes.say(f"'{model.name}' was exported for {backend}; the graph is kept in {folder}")
    return folder


def _is_whole(folder: Path, notes: Notes) -> bool:
    if not (folder / MANIFEST).is_file():
        return False
    try:
        verify(folder)
    except IntegrityError as error:
        notes.say(f"an exported graph is damaged and made again: {error}")
        return False
    return True


def _put(work: Path, folder: Path) -> None:
    """Move a finished export to its place; if another process was first, keep that."""
    if folder.exists() and not _is_whole(folder, Notes()):
        with suppress(FileNotFoundError):  # another process does the same
            folder.rename(work.with_name("damaged"))
    try:
        work.rename(folder)
    except OSError:
        if not _is_whole(folder, Notes()):
            raise


def _export(encoder: Any, model: Model, backend: str, work: Path) -> None:
    import torch

    example = {name: torch.from_numpy(value) for name, value in random_batch(encoder, *_EXAMPLE).items()}
    try:
        with torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False), _quiet():
            import_module(BACKENDS[backend].module).export(_hidden_states(encoder), example, work)
    except Exception as error:  # exporters raise errors of many types
        raise InputError(
            f"the network cannot be exported for {backend}: {first_line(error)}",
            path=model.path,
            fix="use backend=torch",
        ) from error
    if not agrees(encoder, load_graph(backend, work, bf16=False)):
        raise InputError(
            f"the graph exported for {backend} and the network give different results",
            path=model.path,
            fix="use backend=torch",
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings of exporters; `agrees` checks the results."""
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _hidden_states(encoder: Any) -> Any:
    """Return the encoder as a module whose inputs have an order and whose output is the last hidden state."""
    import torch

    class HiddenStates(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
        ) -> torch.Tensor:
            types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
            hidden: torch.Tensor = encoder(
                input_ids=input_ids, attention_mask=attention_mask, **types
            ).last_hidden_state
            return hidden

    return HiddenStates().eval()
