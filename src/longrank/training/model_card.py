"""Model card of a trained network, made of the record of its training."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from longrank.models import DOCUMENT_NETWORKS
from longrank.models.description import describe
from longrank.networks.checks import read_json, tensor_shapes
from longrank.networks.model_card import card, code, rerank_command
from longrank.networks.trainings import DESCRIPTION, TRAINED
from longrank.registries import lookup

_SHOWN = 40  # validations in a card
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
    """Library and task as the hub names them, a command, and Python code that loads the model, or why there is none."""

    library: str
    task: str
    python: str
    command: str
    without_python: str = ""


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of the training that a model folder holds; None if it holds none.

    Raises:
        InputError: the record cannot be read.
    """
    if (folder / DESCRIPTION).is_file():
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
    initial, hub = training["network"]["model"], _hub_models(record["run"])
    metadata = {"library_name": use.library, "pipeline_tag": use.task, "tags": "[longrank]"}
    metadata |= {"license": licence} if licence else {}
    metadata |= {"base_model": initial.partition("@")[0]} if initial in hub else {}
    about = f"A `{training['network']['name']}` that `longrank` trained from `{_shown(initial, hub)}`"
    return card(
        metadata,
        name.rpartition("/")[2],
        f"{about}, in {record['steps']} steps. Written by LongRank {version('longrank')}.\n",
        "## Use\n",
        *([code("python", use.python)] if use.python else [use.without_python]),
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


_TOGETHER = "The network reads the passages of a document together, so sentence-transformers cannot load it.\n"
_OWN_HEAD = "transformers has no class with this network's head, so sentence-transformers cannot load it.\n"


def local_paths(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of this machine that a record's settings name."""
    hub = _hub_models(record["run"])
    return (value for value in _strings(record["run"]["training"]) if _is_path(value, hub))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _strings(each)


def _use(folder: Path, name: str) -> _Use:
    """Return the use of a model by the files of its folder."""
    if (folder / "modules.json").is_file():
        python = f'model = SentenceTransformer("{name}")\nvectors = model.encode(["a query", "a passage"])'
        python = f"from sentence_transformers import SentenceTransformer\n\n{python}"
        command = f'longrank search my.index "a query" --pipeline minilm --model {name}'
        return _Use("sentence-transformers", "sentence-similarity", python, command)
    network = describe(folder)["network"] if (folder / DESCRIPTION).is_file() else None
    config = read_json(folder / "config.json")
    kind = str((config.get("architectures") or [""])[0])
    if kind.endswith("ForConditionalGeneration"):
        python = (
            "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
            f'tokenizer = AutoTokenizer.from_pretrained("{name}")\n'
            f'model = AutoModelForSeq2SeqLM.from_pretrained("{name}")'
        )
        command = f"longrank expand docs.jsonl {name} -o expansions.jsonl"
        return _Use("transformers", "text2text-generation", python, command)
    named = kind.endswith("ForSequenceClassification")
    command = rerank_command(network or "maxp", name)
    # Networks of passages read together were saved with the name of the classifier that their encoder came from.
    if not (named if network is None else lookup(DOCUMENT_NETWORKS, network, "document network").from_classifier):
        return _Use("transformers", "text-ranking", "", command, _TOGETHER)
    if not _has_whole_head(folder, config):
        return _Use("transformers", "text-ranking", "", command, _OWN_HEAD)
    # Classifiers, too, were saved with the name of what they came from; CrossEncoder then expects one output.
    outputs = "" if named else f", num_labels={_outputs(config)}"
    python = (
        "import torch\nfrom sentence_transformers import CrossEncoder\n\n"
        f'model = CrossEncoder("{name}"{outputs})  # cuts a pair at the longest input; longrank reads all passages\n'
        'logits = model.predict([("a query", "a passage")], activation_fn=torch.nn.Identity())'
    )
    return _Use("sentence-transformers", "text-ranking", python, command)


def _has_whole_head(folder: Path, config: Mapping[str, Any]) -> bool:
    """Tell whether transformers finds its classifier; Capreolus' head on ELECTRA has no dense layer."""
    if config.get("model_type") != "electra":
        return True
    return "classifier.dense.weight" in tensor_shapes(folder / "model.safetensors")


def _outputs(config: Mapping[str, Any]) -> int:
    return len(config.get("id2label") or (0, 1))  # transformers leaves the names of two out


def _data(run: Mapping[str, Any]) -> str:
    digests = "".join(f"- {noun}: `{run[key]}`\n" for key, noun in _DATA.items() if run.get(key))
    return f"SHA-256 of the data, as `longrank` computes it:\n\n{digests}"


def _settings(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield ``key = value`` for every setting of the training that is set, paths by their last part."""
    hub = _hub_models(record["run"])
    for section, values in {**record["run"]["training"], "loop": record["settings"]}.items():
        yield from _leaves(section, values, hub)
    yield f"# {record['processes']} process{'es' if record['processes'] > 1 else ''}"
    yield "# " + ", ".join(f"{package} {number}" for package, number in record["versions"].items())


def _leaves(key: str, value: Any, hub: Collection[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves(f"{key}.{name}", below, hub)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for n, below in enumerate(value):
            yield from _leaves(f"{key}.{n}", below, hub)
    elif value is not None:
        yield f"{key} = {json.dumps(_shown(value, hub), ensure_ascii=False)}"


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


def _hub_models(run: Mapping[str, Any]) -> set[str]:
    """Return the names of initial network and teacher that meant a model of the hub when the training read them.

    The fingerprint of such a model begins with ``name@commit``, that of a folder does not.
    """
    teacher = (run["training"].get("teacher") or {}).get("model")
    read = {run["training"]["network"]["model"]: run.get("model"), teacher: run.get("teacher")}
    return {name for name, found in read.items() if name and str(found).startswith(f"{name.partition('@')[0]}@")}


def _is_path(value: str, hub: Collection[str]) -> bool:
    """Tell whether a setting is a path; relative ones are, wherever the card is written."""
    return value.startswith("~") or ("/" in value and value not in hub)


def _shown(value: Any, hub: Collection[str]) -> Any:
    return Path(value).name if isinstance(value, str) and _is_path(value, hub) else value
