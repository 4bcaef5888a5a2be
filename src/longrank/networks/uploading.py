"""Upload a model to the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from longrank.errors import LongRankError, MissingExtra, first_line
from longrank.networks.model_card import CARD


def upload(files: Mapping[str, Path], card: str, repo: str, *, private: bool, token: str | None) -> str:
    """Create a repository if there is none, and upload a model in one commit; return the address of the commit.

    The files are staged as links beside the card, so the model's folder stays as it is.

    Args:
        files: name in the repository -> file.
        card: the model card.
        repo: ``owner/name``.
        private: hide a new repository from others; an existing repository keeps its setting.
        token: of an account that may write; None: the client's own, HF_TOKEN or that of ``hf auth login``.

    Raises:
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
            commit = api.upload_folder(repo_id=repo, folder_path=place, commit_message="Upload a model of LongRank")
        except Exception as error:  # errors of the client, the network and the system
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise LongRankError(f"cannot upload to '{repo}' on the Hugging Face hub: {reason}") from error
    return str(commit.commit_url)


def stage(files: Mapping[str, Path], card: str, folder: Path) -> None:
    """Link files into a folder, and write the card there."""
    for name, path in files.items():
        if name != CARD:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(path.resolve())
    (folder / CARD).write_text(card, encoding="utf-8")
