"""Training of document networks and passage networks: samples, losses, the loop.

Samples are functions of (seed, number or id), so that nothing depends on the order of work:

    samples         a query's relevant document and others: from judgments and a first-stage run
    candidates      documents of a query that may be positives and negatives
    passages        passages that are read of a sample's documents
    judgments       samples of the judgments, deep or shallow
    passage_data    examples of passages: rows from Microblog, MS MARCO and CAR, groups of texts
    weak_labels     examples made of the best sentences of judged documents

`settings` reads a training's TOML file; the name of its network says what it learns from:

    rankings of an index    `folds` trains once or over folds, `experiment` holds the data, `ranking_task` learns
    examples of passages    `passage_training` trains; `PASSAGE_NETWORKS` names the tasks

`loop` takes the steps of either; `losses` and `schedules` are those of the papers.
"""

PASSAGE_NETWORKS: dict[str, str] = {
    "cross-encoder": "longrank.training.cross_encoder_task:CrossEncoderTask",
    "bi-encoder": "longrank.training.bi_encoder_task:BiEncoderTask",
    "doc2query": "longrank.training.doc2query_task:Doc2QueryTask",
}
"""Networks that learn from examples of passages, by name; each task is imported when it is used."""
