"""A LangChain retriever over an index: whole documents, with their best passages as evidence.

retriever = LongRankRetriever(index="my.index", k=5, filter={"year": {"$gte": 2020}})
documents = retriever.invoke("how are hurricanes named", filter={"lang": "en"})
documents[0].metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from typing import Any

from longrank.errors import MissingExtra
from longrank.integrations.searching import SearcherSettings

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError:
    raise MissingExtra("the LangChain retriever", "langchain") from None


class LongRankRetriever(SearcherSettings, BaseRetriever):  # type: ignore[misc]  # types of langchain_core are not read
    """Returns documents, best first; a document's metadata are its other fields, and the evidence under `longrank`.

    Attributes: see `SearcherSettings`. ``invoke(query, filter=..., k=...)`` replaces two of them for a query.
    """

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
