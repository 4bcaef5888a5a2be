"""A server of the Model Context Protocol: language models search an index, and read around what they find.

    search            documents for a question, each with its best passages, their places and their best sentence
    read_document     a part of a document's text
    read_around       the text before and after a passage

All places are code points of a document's text, so an answer can cite ``doc_id[start:end]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field

from longrank.errors import LongRankError, MissingExtra
from longrank.integrations.following import Following, absolute
from longrank.ranking.found import Result, ShownPassage
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.types import Notes
from longrank.verbs.search import search as run_search

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:
    raise MissingExtra("the MCP server", "mcp") from None

LONGEST = 20_000
"""Characters that a tool returns at most."""

_INSTRUCTIONS = (
    "Search the documents of this index. Results have passages with offsets; read around a passage before you rely on "
    "it, and cite it as doc_id[start:end]."
)

Place = Annotated[int, Field(ge=0, description="Code point of the document's text, from 0.")]
_STATE = "Digest of the index. If it differs from that of `search`, search again: places may have moved."
DocId = Annotated[str, Field(description="Id of a document, as `search` returns it.")]


class FoundPassage(BaseModel):
    """A passage: its text, its place, its score and the place and text of its best sentence."""

    start: int
    end: int
    score: float
    text: str
    sentence: str


class FoundDocument(BaseModel):
    """A document with its best passages, best first."""

    rank: int
    doc_id: str
    title: str
    score: float
    passages: list[FoundPassage]


class Found(BaseModel):
    """Documents, best first; `warnings` name cut texts, omitted passages and replaced models."""

    documents: list[FoundDocument]
    warnings: list[str]
    digest: str = Field(description=_STATE)


class Part(BaseModel):
    """A part of a document's text; `n_characters` is the length of the whole text."""

    doc_id: str
    title: str
    start: int
    end: int
    n_characters: int
    text: str
    digest: str = Field(description=_STATE)


def make_server(
    index: Path | str, *, pipeline: str | None = None, model: str | None = None, assignments: Any = ()
) -> MCPServer:
    """Return a server for an index.

    Args:
        index: an index.
        pipeline: a pipeline's name or TOML file. Default: as `longrank.search`.
        model: replaces the pipeline's model.
        assignments: settings of the pipeline, as ``--set`` takes them.

    Raises:
        InputError, MissingExtra, IntegrityError: as `longrank.search`.
    """
    from longrank.ranking.settings import default_pipeline

    name, index = pipeline or default_pipeline(), absolute(index)

    def load() -> _Opened:
        notes = Notes()
        opened = open_pipeline(index, name, model=model, assignments=assignments, notes=notes)
        return _Opened(opened, notes.lines())

    following = Following(index, load)
    following.current()  # mistakes raise before the server starts
    server = _Server("longrank", instructions=_INSTRUCTIONS)
    tools = _Tools(following)
    for tool in (tools.search, tools.read_document, tools.read_around):
        server.tool()(tool)
    return server


async def openai_tools(server: MCPServer) -> list[Mapping[str, Any]]:
    """Return the tools in the form that OpenAI's chat completions take as ``tools``."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in await server.list_tools()
    ]


class _Server(MCPServer):  # type: ignore[misc]
    """A server that refuses arguments that a tool does not take; the library would leave them out."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        for tool in await self.list_tools():
            taken = tool.input_schema["properties"]
            if tool.name == name and (unknown := [argument for argument in arguments if argument not in taken]):
                raise ToolError(f"{name} takes no argument {unknown[0]!r}; it takes: {', '.join(taken)}")
        return await super().call_tool(name, arguments, context)


class _Opened(NamedTuple):
    """A pipeline and the remarks of its opening."""

    pipeline: Pipeline
    warnings: list[str]


class _Tools:
    """The tools; their docstrings and annotations are what a language model reads."""

    def __init__(self, following: Following[_Opened]) -> None:
        self._following = following

    def search(
        self,
        query: Annotated[str, Field(min_length=1, description="A question or keywords.")],
        k: Annotated[int, Field(ge=1, le=50, description="Number of documents.")] = 5,
        passages: Annotated[int, Field(ge=1, le=10, description="Passages of each document.")] = 2,
    ) -> Found:
        """Search the documents. Return the best documents, each with the passages that answer."""
        (pipeline, opening), stale = self._following.current()
        try:
            found = run_search(pipeline.index, query, pipeline=pipeline, k=k, passages=passages)
        except LongRankError as error:
            raise ToolError(str(error)) from None
        warnings = [*opening, *filter(None, [stale]), *found.notes.lines()]
        return Found(documents=list(map(_document, found)), warnings=warnings, digest=pipeline.index.digest)

    def read_document(
        self,
        doc_id: DocId,
        start: Place = 0,
        characters: Annotated[int, Field(ge=1, le=LONGEST, description="Length of the part.")] = 4000,
    ) -> Part:
        """Read a part of a document. The end of a part is the start of the next part."""
        return self._part(doc_id, start, start + characters)

    def read_around(
        self,
        doc_id: DocId,
        start: Place,
        end: Place,
        characters: Annotated[int, Field(ge=0, le=LONGEST, description="Length before and after it.")] = 1000,
    ) -> Part:
        """Read the text before and after a passage, with the passage or its first 20000 characters."""
        if end < start:
            raise ToolError(f"end {end} lies before start {start}")
        return self._part(doc_id, start, min(end, start + LONGEST) + characters, before=characters)

    def _part(self, doc_id: str, start: int, end: int, before: int = 0) -> Part:
        index = self._following.current().value.pipeline.index
        try:
            document = index.document(doc_id)
        except KeyError:
            raise ToolError(f"no document has the id {doc_id!r}; take a doc_id that search returned") from None
        text = document.text
        if start > len(text):
            raise ToolError(f"start {start} lies beyond the document's end, {len(text)}")
        start, end = max(0, start - before), min(end, len(text))
        return Part(
            doc_id=doc_id,
            title=document.title,
            start=start,
            end=end,
            n_characters=len(text),
            text=text[start:end],
            digest=index.digest,
        )


def _document(result: Result) -> FoundDocument:
    return FoundDocument(
        rank=result.rank,
        doc_id=result.doc_id,
        title=result.title,
        score=result.score,
        passages=[_passage(passage) for passage in result.passages],
    )


def _passage(passage: ShownPassage) -> FoundPassage:
    return FoundPassage(
        start=passage.start, end=passage.end, score=passage.score, text=passage.text, sentence=passage.sentence
    )
