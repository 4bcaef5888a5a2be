"""How models are trained: what they learn from, what is minimised, and the loop.

What is learned from, all of it a function of (seed, number or id), so that nothing depends on who asks when:

    samples         a query's relevant document and others: from judgments and a first-stage run
    candidates      which documents of a query may be which
    passages        which passages of a sample's documents are read
    judgments       fewer judgments, deep or shallow
    passage_data    (query, text, label) rows from Microblog, MS MARCO and CAR
    weak_labels     the best sentence of a judged document stands for it

What learns: `loop` takes steps of whatever can be trained; `losses` and `schedules` are what papers say. A command's
training is `settings`; `folds` does it, `ranking_setup` builds the `ranking_task` that the loop trains. One on examples
is `passage_settings`; `passage_training` does it with a `cross_encoder_task`, `bi_encoder_task` or `doc2query_task`.
"""
