"""The papers' passage data as rows of (query, text, label).

A module for each source yields rows as it reads:

    microblog   judged tweets (Birch)
    msmarco     the training triples of MS MARCO's passages
    car         headings of Wikipedia articles, with BM25's best paragraphs and automatic judgments

`rows` writes files of them. Rows, and groups of texts, are the `examples` that passage models are trained on,
found by number in their file (`line_file`).
"""
