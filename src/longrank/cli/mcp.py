"""``longrank mcp``: give an index to language models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.options import Model, PipelineSettings


def mcp(
    index: Annotated[Path, typer.Argument(help="The index.", metavar="INDEX")],
    pipeline: Annotated[
        str | None,
        typer.Option(help="Pipeline name or TOML file. [default: mixed if MiniLM is installed, else lexical]"),
    ] = None,
    model: Model = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the tools as OpenAI's tool schema, and end.")] = False,
    assignments: PipelineSettings = None,
) -> None:
    """Serve an index to language models (MCP).

    The Model Context Protocol goes over standard input and output. The tools search the index,
    read documents, and read around passages. Give this command to an MCP client.

    Example: longrank mcp my.index
    """
    from longrank.integrations.mcp import make_server, openai_tools

    server = make_server(index, pipeline=pipeline, model=model, assignments=assignments or ())
    if schema:
        import anyio

        typer.echo(json.dumps(anyio.run(openai_tools, server), indent=1))
    else:
        server.run("stdio")
