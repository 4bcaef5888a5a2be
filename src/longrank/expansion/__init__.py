"""doc2query: the queries that a sequence-to-sequence model predicts for documents, as a file that an index reads.

    reading     which texts of a document the model reads (presets)
    network     loading and checking a model
    decoding    how queries are written: top-k sampling, beam search
    predictor   texts in, queries out
    expand      a collection in, a file of predictions out, resumable

An index takes such files, of one model or several, with ``longrank index --expansions``.
"""
