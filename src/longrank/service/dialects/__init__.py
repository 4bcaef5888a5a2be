"""Rerank dialects over HTTP, one module each.

cohere   POST /v2/rerank
jina     POST /v1/rerank, and POST /rerank with `documents`: the union of Cohere v1, Jina, vLLM and Infinity
tei      POST /rerank with `texts`: text-embeddings-inference

A module has a model of the request (unknown fields are refused, nulls are accepted), `to_request`, which returns a
`service.rerank.RerankRequest`, and `reply`. LongRank adds the fields `aggregate`, `evidence` and `passages`.
"""
