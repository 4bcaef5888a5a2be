"""Model cards: the README.md that the Hugging Face hub shows for a model."""

from __future__ import annotations

from collections.abc import Mapping

CARD = "README.md"


def card(metadata: Mapping[str, str], title: str, *sections: str) -> str:
    """Return a model card in Markdown.

    Args:
        metadata: keys that the hub knows, such as ``library_name`` and ``license``; their values are plain words.
        title: the heading.
        sections: Markdown, each with a newline at its end.
    """
    head = "".join(f"{key}: {value}\n" for key, value in metadata.items())
    return f"---\n{head}---\n\n# {title}\n\n" + "\n".join(sections)


def code(language: str, text: str) -> str:
    """Return a block of code in Markdown."""
    return f"```{language}\n{text}\n```\n"


def rerank_command(pipeline: str, model: str = "FOLDER") -> str:
    """Return the command that reranks a run with a model."""
    run = f"{pipeline.partition('-')[0]}.run"
    return f"longrank rerank my.index topics.jsonl bm25.run -o {run} --pipeline {pipeline} --model {model}"
