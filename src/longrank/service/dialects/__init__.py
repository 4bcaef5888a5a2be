"""What clients send and read: one module per dialect of reranking over HTTP.

cohere   POST /v2/rerank
jina     POST /v1/rerank, and POST /rerank with `documents`: the union of Cohere v1, Jina, vLLM and Infinity
tei      POST /rerank with `texts`: text-embeddings-inference

Each has a model of the request, strict and closed but for nulls, which clients send; `asked` turns it into
`service.rerank.Asked`, `answered` writes the answer down. Ours are `aggregate`, `evidence` and `passages`.
"""
