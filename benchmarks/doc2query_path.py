"""Train two doc2query models, predict queries for a collection, and index both predictions.

    python -m benchmarks.doc2query_path DATA [--folder work/doc2query] [--results docs/results]

No pretrained sequence-to-sequence model can be had offline, so both are tiny, begin at random and learn from half of
the 11,877 questions about sentences each (squad-nqg-sentences, articles that are not evaluated). This shows that every
step works, and what such predictions do to BM25; it says nothing of the published models. What is compared, on
questions about squad-dev-sections' articles for evaluation: no predictions, those of each model, those of both
(as h2oloo united two models), and those of both given to other documents, which is what their words alone do.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gains_tasks import TASKS, assigned, evaluated_queries, run, write_queries
from benchmarks.training_pools import read_collection, unseen
from longrank.draws import shuffled
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.expansions import expansion_line, read_expansions
from longrank.formats.trec import read_qrels, read_run
from longrank.training.passage_data.examples import Example, write_examples
from longrank.types import Notes, Qrels

COLLECTION = "squad-dev-sections"
MODELS = ("first", "second")
MEASURES = ("RR@10", "nDCG@10")
N_DEV = 200  # pairs of each half that validate
VOCABULARY, SHAPE = 4000, {"d_model": 128, "d_kv": 32, "d_ff": 512, "num_layers": 2, "num_heads": 4}
TRAINING = {
    "read.max_tokens": 64,
    "read.max_query_tokens": 40,
    "network.dropout": 0.1,
    "loop.steps": 600,
    "loop.batch": 32,
    "loop.micro_batch": 32,
    "loop.validate_every": 100,
    "loop.checkpoint_every": 100,
    "loop.optimizer.learning_rate": 2e-3,
}
READING = {"passages.options.length": 2, "passages.options.stride": 2}  # sentences; the models have learned from one
N_QUERIES, MAX_QUERY_TOKENS = 2, 32  # of a passage; of a query


def main() -> None:
    """Make missing files, and compare the systems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/doc2query"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(MODELS):
        predict(args.data, args.folder, name, seed)
    files = [args.folder / f"{name}.jsonl" for name in MODELS]
    elsewhere = args.folder / "elsewhere.jsonl"
    give_to_others(files, elsewhere)
    systems = {"BM25": [], "+ first": files[:1], "+ second": files[1:], "+ both": files, "both, elsewhere": [elsewhere]}
    found = compared(args.data, args.folder, systems) | about(args.folder)
    path = args.results / "doc2query-path.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def predict(data: Path, folder: Path, name: str, seed: int) -> None:
    """Train a model on its half, and predict the queries of all documents."""
    half, dev = folder / f"{name}.train.jsonl", folder / f"{name}.dev.jsonl"
    own = halves(data)[seed]
    write_examples(own[N_DEV:], half)
    write_examples(own[:N_DEV], dev)
    start = folder / f"{name}-untrained"
    if not start.exists():
        save_untrained(start, (text for one in own[N_DEV:] for text in (one.query, *one.texts)), seed)
    settings = assigned(TRAINING | {"network.model": str(start), "loop.seed": seed})
    run("train-passages", "doc2query", half, "-o", folder / name, "--dev", dev, *settings)
    how = ("-n", N_QUERIES, "--seed", seed, "--max-query-tokens", MAX_QUERY_TOKENS)
    run("expand", data / COLLECTION, folder / name / "model", "-o", folder / f"{name}.jsonl", *how, *assigned(READING))


def halves(data: Path) -> list[list[Example]]:
    """Return the questions with their sentences in two halves at random; no question reads like an evaluated one."""
    documents, queries, judged = read_collection(data / "squad-nqg-sentences")
    texts = {document.doc_id: document.text for document in documents}
    order = shuffled([query.query_id for query in unseen(queries, data)], "doc2query halves")
    known = {query.query_id: query.text for query in queries}
    pairs = [Example(known[one], (texts[next(iter(judged[one]))],), (1.0,)) for one in order]
    return [pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]]


def save_untrained(folder: Path, texts: Iterable[str], seed: int) -> None:
    """Write a T5 of random weights, with a tokenizer of lower-case word pieces that is trained on `texts`."""
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    special = ["<pad>", "</s>", "<unk>"]
    raw = Tokenizer(models.Unigram())
    raw.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(), pre_tokenizers.Metaspace()]
    )
    raw.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, **names, model_max_length=512, model_input_names=["input_ids", "attention_mask"]
    )
    torch.manual_seed(seed)
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, dropout_rate=0.1, **SHAPE)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def give_to_others(files: Sequence[Path], output: Path) -> None:
    """Write all predictions with the document of each exchanged for the next in a random order."""
    lines = list(read_expansions(files, Notes()))
    order = shuffled({one.doc_id for one in lines}, "doc2query elsewhere")
    other = dict(zip(order, order[1:] + order[:1], strict=True))
    output.write_text("".join(expansion_line(other[one.doc_id], one.queries) for one in lines), encoding="utf-8")


def compared(data: Path, folder: Path, systems: dict[str, list[Path]]) -> dict[str, Any]:
    """Return a row for each system: its values, and Holm's p of the paired t-test against the first."""
    queries = evaluated_queries(data, TASKS[COLLECTION])
    write_queries(queries, folder / "queries.jsonl")
    judged = read_qrels(data / COLLECTION / "qrels.txt", Notes())
    qrels: Qrels = {query.query_id: judged[query.query_id] for query in queries}
    values = [searched(data, folder, n, files, qrels) for n, files in enumerate(systems.values())]
    rows: list[dict[str, Any]] = [
        {"system": name} | {measure: round(mean(own[measure]), 4) for measure in MEASURES}
        for name, own in zip(systems, values, strict=True)
    ]
    for measure in MEASURES:
        p = [t_test(differences(own[measure], values[0][measure])) for own in values[1:]]
        for row, value in zip(rows[1:], corrected(p, "holm", len(p)), strict=True):
            row[f"p_holm {measure}"] = value
    return {"collection": COLLECTION, "queries": len(queries), "comparable": False, "rows": rows}


def searched(data: Path, folder: Path, n: int, files: Sequence[Path], qrels: Qrels) -> dict[str, dict[str, float]]:
    """Index the collection with predictions, search it by BM25 (.9, .4), and return values by measure and query."""
    index, output = folder / f"{n}.index", folder / f"{n}.run"
    run("index", data / COLLECTION, "-o", index, *(part for file in files for part in ("--expansions", file)))
    run("retrieve", index, folder / "queries.jsonl", "-o", output)
    return evaluate(qrels, read_run(output, Notes()), MEASURES)


def mean(values: dict[str, float]) -> float:
    return sum(values.values()) / len(values)


def about(folder: Path) -> dict[str, Any]:
    """Return the models' sizes, their dev losses, and the number of predicted queries."""
    records = [json.loads((folder / name / "model" / "training.json").read_text(encoding="utf-8")) for name in MODELS]
    n_queries = [
        sum(len(one.queries) for one in read_expansions([folder / f"{name}.jsonl"], Notes())) for name in MODELS
    ]
    return {
        "shape": SHAPE | {"vocabulary": VOCABULARY},
        "training": TRAINING,
        "dev_loss": [round(-record["best_measure"], 3) for record in records],
        "reading": READING,
        "queries_of_a_passage": N_QUERIES,
        "predicted_queries": n_queries,
    }


if __name__ == "__main__":
    main()
