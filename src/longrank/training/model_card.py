"""Model card of a trained network, made of the record of its training; no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from longrank.models.description import FILE, TRAINED, describe
from longrank.networks.checks import read_json, tensor_shapes
from longrank.networks.model_card import card, code, rerank_command

_SHOWN = 40  # validations in a card
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_DATA = {
    "collection": "documents",
    "queries": "queries",
    "qrels": "judgments",
    "training_judgments": "judgments learned from",
    "first_stage": "first-stage run",
    "fold": "fold",
    "examples": "examples",
    "dev": "development examples",
    "teacher": "teacher",
}
"""Key of a record's ``run`` -> noun."""


class _Use(NamedTuple):
    """Library and task as the hub names them, Python code that loads the model, and a command."""

    library: str
    task: str
    python: str
    command: str


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of the training that a model folder holds; None if it holds none.

    Raises:
        InputError: the record cannot be read.
    """
    if (folder / FILE).is_file():
        record: dict[str, Any] | None = describe(folder)["record"]
        return record
    return read_json(folder / TRAINED) if (folder / TRAINED).is_file() else None


def trained_card(folder: Path, record: Mapping[str, Any], name: str, licence: str | None) -> str:
    """Return the model card: use, data, settings, development curve and licence.

    Args:
        folder: the model.
        record: of its training.
        name: of the repository, ``owner/name``.
        licence: as the hub names it, such as ``apache-2.0``; None: not stated.

    Raises:
        InputError: the folder's configuration cannot be read.
    """
    use, training = _use(folder, name), record["run"]["training"]
    initial = training["network"]["model"]
    metadata = {"library_name": use.library, "pipeline_tag": use.task, "tags": "[longrank]"}
    metadata |= {"license": licence} if licence else {}
    metadata |= {"base_model": initial} if _is_on_hub(initial) else {}
    about = f"A `{training['network']['name']}` that `longrank` trained from `{_shown(initial)}`"
    return card(
        metadata,
        name.rpartition("/")[2],
        f"{about}, in {record['steps']} steps. Written by LongRank {version('longrank')}.\n",
        "## Use\n",
        *([code("python", use.python)] if use.python else [_ONLY_LONGRANK]),
        code("sh", use.command),
        "## Data\n",
        _data(record["run"]),
        "## Settings\n",
        code("text", "\n".join(_settings(record))),
        "## Development curve\n",
        _curve(record),
        "## Licence\n",
        _licence(licence),
    )


_ONLY_LONGRANK = "The network reads the passages of a document together, so sentence-transformers cannot load it.\n"


def local_paths(value: Any) -> Iterator[str]:
    """Yield the paths of this machine that a record names."""
    below = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for each in below:
        yield from local_paths(each)
    if isinstance(value, str) and _is_path(value):
        yield value


def _use(folder: Path, name: str) -> _Use:
    """Return the use of a model by the files of its folder."""
    if (folder / "modules.json").is_file():
        python = f'model = SentenceTransformer("{name}")\nvectors = model.encode(["a query", "a passage"])'
        python = f"from sentence_transformers import SentenceTransformer\n\n{python}"
        command = f'longrank search my.index "a query" --pipeline minilm --model {name}'
        return _Use("sentence-transformers", "sentence-similarity", python, command)
    network = describe(folder)["network"] if (folder / FILE).is_file() else None
    config = read_json(folder / "config.json")
    kind = str((config.get("architectures") or [""])[0])
    if kind.endswith("ForConditionalGeneration"):
        python = (
            f'from transformers import AutoModelForSeq2SeqLM\n\nmodel = AutoModelForSeq2SeqLM.from_pretrained("{name}")'
        )
        command = f"longrank expand docs.jsonl -o expansions.jsonl --model {name}"
        return _Use("transformers", "text2text-generation", python, command)
    classifier = kind.endswith("ForSequenceClassification") and _has_whole_head(folder, config)
    python = (
        "import torch\nfrom sentence_transformers import CrossEncoder\n\n"
        f'model = CrossEncoder("{name}")\n'
        'logits = model.predict([("a query", "a passage")], activation_fn=torch.nn.Identity())'
    )
    command = rerank_command(network or "maxp", name)
    if not classifier:
        return _Use("transformers", "text-ranking", "", command)
    return _Use("sentence-transformers", "text-ranking", python, command)


def _has_whole_head(folder: Path, config: Mapping[str, Any]) -> bool:
    """Tell whether transformers finds its classifier; Capreolus' head on ELECTRA has no dense layer."""
    if config.get("model_type") != "electra":
        return True
    return "classifier.dense.weight" in tensor_shapes(folder / "model.safetensors")


def _data(run: Mapping[str, Any]) -> str:
    digests = "".join(f"- {noun}: `{run[key]}`\n" for key, noun in _DATA.items() if run.get(key))
    return f"SHA-256 of the data, as `longrank` computes it:\n\n{digests}"


def _settings(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield ``key = value`` for every setting of the training that is set, paths by their last part."""
    for section, values in {**record["run"]["training"], "loop": record["settings"]}.items():
        yield from _leaves(section, values)
    yield f"# {record['processes']} process{'es' if record['processes'] > 1 else ''}"
    yield "# " + ", ".join(f"{package} {number}" for package, number in record["versions"].items())


def _leaves(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves(f"{key}.{name}", below)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for n, below in enumerate(value):
            yield from _leaves(f"{key}.{n}", below)
    elif value is not None:
        yield f"{key} = {json.dumps(_shown(value), ensure_ascii=False)}"


def _curve(record: Mapping[str, Any]) -> str:
    """Return the table of validations, at most `_SHOWN` and the best."""
    validations = record["validations"]
    if not validations:
        return "The training was not validated.\n"
    every = -(-len(validations) // _SHOWN)
    best = record["best_step"]
    kept = [row for n, row in enumerate(validations) if n % every == 0 or row[0] == best]
    rows = "".join(f"| {step} | {value:.4f}{' (kept)' if step == best else ''} |\n" for step, value in kept)
    left = f"\n{len(kept)} of {len(validations)} validations are shown.\n" if len(kept) < len(validations) else ""
    return f"| step | {record['run']['training']['validation']['measure']} |\n|---|---|\n{rows}{left}"


def _licence(licence: str | None) -> str:
    if licence:
        return f"{licence}. The licences of the initial model and of the training data apply, too.\n"
    return "Not stated. The licences of the initial model and of the training data apply.\n"


def _is_on_hub(model: str) -> bool:
    return bool(_HUB_NAME.fullmatch(model)) and not Path(model).exists()


def _is_path(value: str) -> bool:
    return value.startswith(("/", "~", "./", "../")) or ("/" in value and Path(value).exists())


def _shown(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and _is_path(value) else value
