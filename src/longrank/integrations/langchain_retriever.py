"""A LangChain retriever over an index: whole documents, with their best passages as evidence.

retriever = LongRankRetriever(index="my.index", k=5, filter={"year": {"$gte": 2020}})
documents = retriever.invoke("how are hurricanes named", filter={"lang": "en"})
documents[0].metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import ConfigDict

from longrank.errors import MissingExtra
from longrank.integrations.searching import SearcherSettings

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
except ImportError:
    raise MissingExtra("the LangChain retriever", "langchain") from None


class LongRankRetriever(SearcherSettings, BaseRetriever):  # type: ignore[misc]  # types of langchain_core are not read
    """Returns documents, best first; a document's metadata are its other fields, and the evidence under `longrank`.

    Attributes: see `SearcherSettings`. ``invoke(query, filter=..., k=...)`` and ``ainvoke`` replace two
    of them for a query.
    """

    model_config = ConfigDict(extra="forbid")  # LangChain's own, which ignores, would replace that of the settings

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        filter: dict[str, Any] | None = None,
        k: int | None = None,
    ) -> list[Document]:
        """Return the `k` best documents.

        Raises:
            InputError: a wrong filter, or the index or the model cannot be loaded.
        """
        chosen = self.filter if filter is None else filter
        found = self._searcher.search(query, k=self.k if k is None else k, passages=self.passages, filter=chosen)
        return [Document(text, id=result.doc_id, metadata=metadata) for result, text, metadata in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        """Return the `k` best documents, found in another thread; LangChain's own method takes no options."""
        search = partial(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options)
        return await run_in_executor(None, search)  # type: ignore[no-any-return]
