"""Upload a model to the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from glob import escape
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from longrank.errors import InputError, LongRankError, MissingExtra, first_line
from longrank.networks.model_card import CARD
from longrank.networks.model_files import SUFFIXES

_READ = (*SUFFIXES, ".jinja", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".xml", ".gguf")
"""Suffixes of the files of a repository that a library may read as a part of its model."""


def upload(
    files: Mapping[str, Path], card: str, repo: str, *, private: bool, token: str | None, replace: bool = False
) -> str:
    """Create a repository if there is none, and upload a model in one commit; return the address of the commit.

    The files are staged as links beside the card, so the model's folder stays as it is.

    Args:
        files: name in the repository -> file.
        card: the model card.
        repo: ``owner/name``.
        private: hide a new repository from others; an existing repository keeps its setting.
        token: of an account that may write; None: the client's own, HF_TOKEN or that of ``hf auth login``.
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
            others = _of_others(api.list_repo_files(repo), files)
            if others and not replace:
                what = "the repository has files of another model, which would stay beside this one"
                fix = "`replace` deletes them in the same commit; or choose another repository"
                raise InputError(f"{repo}: {what}", got=_named(others), fix=fix)
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
    return str(commit.commit_url)


def _of_others(present: Collection[str], files: Collection[str]) -> list[str]:
    """Return the files of a repository that a library may read together with a model that lacks them."""
    names = sorted(name for name in present if PurePosixPath(name).suffix in _READ and name not in files)
    return [name for name in names if PurePosixPath(name).stem not in ("LICENSE", "NOTICE")]


def _named(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def stage(files: Mapping[str, Path], card: str, folder: Path) -> None:
    """Link files into a folder, and write the card there."""
    for name, path in files.items():
        if name != CARD:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(path.resolve())
    (folder / CARD).write_text(card, encoding="utf-8")
