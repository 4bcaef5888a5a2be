"""How models are trained: what they learn from, what is minimised, and the loop.

    samples         query, relevant document, others: from judgments and a first-stage run
    judgments       fewer judgments, deep or shallow
    passages        which passages of a sample's documents are read
    passage_data    (query, text, label) rows from Microblog, MS MARCO and CAR
    weak_labels     the best sentence of a judged document stands for it
"""
