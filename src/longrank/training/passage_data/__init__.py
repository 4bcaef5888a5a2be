"""The papers' passage data as rows of (query, text, label), one module for each source; `rows` writes and reads them.

microblog   judged tweets (Birch)
msmarco     the training triples of MS MARCO's passages
car         headings of Wikipedia articles, with BM25's best paragraphs and automatic judgments
"""
