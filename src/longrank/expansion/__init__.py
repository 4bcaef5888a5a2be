"""doc2query: predict queries for documents with a sequence-to-sequence model, in a file that an index reads.

    reading     texts of a document that the model reads (presets)
    network     loading and checking a model
    decoding    top-k sampling and beam search
    predictor   texts in, queries out
    expand      a collection in, a file of predictions out, resumable

An index takes such files, of one model or several, with ``longrank index --expansions``.
"""
