"""Training data for passage networks.

rows        (query, text, label) rows, and files of them
examples    rows, and groups of texts, by their number in a file
microblog   rows of judged tweets (Birch)
msmarco     rows of the training triples of MS MARCO's passages
car         rows of headings of Wikipedia articles, with BM25's best paragraphs and automatic judgments
"""
