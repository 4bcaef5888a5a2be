"""The papers' passage data as rows of (query, text, label).

A module for each source yields rows as it reads:

    microblog   judged tweets (Birch)
    msmarco     the training triples of MS MARCO's passages
    car         headings of Wikipedia articles, with BM25's best paragraphs and automatic judgments

`rows` writes and reads files of them; `row_file` finds rows by number, to train on.
"""
