"""Upload a model to the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from glob import escape
from hashlib import sha1
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from longrank.errors import InputError, LongRankError, MissingExtra, first_line
from longrank.networks.model_card import CARD
from longrank.types import Notes

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack", ".onnx", ".xml", ".gguf")
_SETTINGS = (
    *("*config.json", "*.index.json", "modules.json", "tokenizer*.json", "vocab.*", "merges.txt", "*.model"),
    *("special_tokens_map.json", "added_tokens.json", "*.metadata", "*.jinja", "longrank.json"),
)
"""Files of a repository that a library may read as parts of its model, by suffix and by name."""
_EXPORTS = ("onnx", "openvino")
"""Folders of weights that sentence-transformers reads instead of the model's, for other engines."""


def upload(
    files: Mapping[str, Path],
    card: str,
    repo: str,
    *,
    private: bool,
    token: str | None,
    notes: Notes,
    replace: bool = False,
) -> str:
    """Create a repository if there is none, and upload a model in one commit; return the address of the commit.

    The files are staged as links beside the card, so the model's folder stays as it is.

    Args:
        files: name in the repository -> file.
        card: the model card.
        repo: ``owner/name``.
        private: hide a new repository from others; an existing repository keeps its setting.
        token: of an account that may write; None: the client's own, HF_TOKEN or that of ``hf auth login``.
        notes: says if another README.md of the repository was replaced.
        replace: delete the files of an earlier model that this model lacks.

    Raises:
        InputError: the repository has such files, and they are not to be deleted.
        MissingExtra: the hub's client is not installed.
        LongRankError: no network, no rights, or another error of the client.
    """
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise MissingExtra("uploading a model", "neural") from None
    with TemporaryDirectory(prefix="longrank-") as place:
        stage(files, card, Path(place))
        try:
            api = HfApi(token=token)
            api.create_repo(repo, private=private, exist_ok=True)
            present = api.list_repo_files(repo)
            others = _of_others(present, files)
            if others and not replace:
                what = "the repository has files of another model, which would stay beside this one"
                fix = "`replace` deletes them in the same commit; or choose another repository"
                raise InputError(f"{repo}: {what}", got=_named(others), fix=fix)
            another = CARD in present and getattr(api.get_paths_info(repo, [CARD])[0], "blob_id", None) != _blob(card)
            commit = api.upload_folder(
                repo_id=repo,
                folder_path=place,
                commit_message="Upload a model of LongRank",
                delete_patterns=[escape(name) for name in others] or None,
            )
        except InputError:
            raise
        except Exception as error:  # errors of the client, the network and the system
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise LongRankError(f"cannot upload to '{repo}' on the Hugging Face hub: {reason}") from error
    if another:
        notes.say(f"{repo}: its {CARD} was another, and this card replaced it; the repository's history keeps it")
    return str(commit.commit_url)


def _blob(text: str) -> str:
    """Return git's name of a file with this text, by which the hub knows its files."""
    content = text.encode()
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _of_others(present: Collection[str], files: Collection[str]) -> list[str]:
    """Return the files of a repository that a library may read together with a model that lacks them.

    A library reads files in the folders of a model's modules, and `files` has all that belong there, and in `_EXPORTS`.
    """
    folders = {PurePosixPath(name).parent for name in files} | set(map(PurePosixPath, _EXPORTS))
    others = [PurePosixPath(name) for name in sorted(set(present) - set(files))]
    return [str(path) for path in others if path.parent in folders and _may_be_read(path)]


def _may_be_read(path: PurePosixPath) -> bool:
    return path.suffix in _WEIGHTS or any(path.match(pattern) for pattern in _SETTINGS)


def _named(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def stage(files: Mapping[str, Path], card: str, folder: Path) -> None:
    """Link files into a folder, and write the card there."""
    for name, path in files.items():
        if name != CARD:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(path.resolve())
    (folder / CARD).write_text(card, encoding="utf-8")
