"""The HTTP service: rerank dialects, search, limits and the web page."""
