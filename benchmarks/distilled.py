"""Compare a student of half the layers with its teacher, trained with and without the teacher's scores.

    python -m benchmarks.distilled DATA --model FOLDER --examples FILE [--folder work/gains] [--results docs/results]

FOLDER is a cross-encoder that `longrank train-passages` has made, FILE its training examples. A student begins with
three of its six layers; it is trained on some of the same examples, by the labels alone, or also by what the teacher
says of the texts; each reranks TIME, as does the student untrained.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.gains_report import mean, values_of
from benchmarks.gains_tasks import TASKS, Prepared, assigned, run
from benchmarks.training_examples import sample
from longrank.evaluation.significance import differences, t_test
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.training.passage_data.examples import Example, ExampleFile, group, write_examples
from longrank.types import Notes, Passage, Query

CONFIG = Path(__file__).with_name("cross_encoder.toml")
N_EXAMPLES, LAYERS, DEPTH = 1600, 3, 20
LOSSES = {"labels": '[{name="lce"}]', "labels and teacher": '[{name="lce"}, {name="kl", weight=3.0}]'}


def main() -> None:
    """Ask the teacher, train the students, rank with all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    prepared = Prepared(args.data, TASKS["time"], args.folder)
    folder = prepared["distilled"]
    folder.mkdir(exist_ok=True)
    student = folder / "student"
    if not student.exists():
        run("create", "maxp", "--model", args.model, "--layers", LAYERS, "-o", student)
    if not (folder / "taught.jsonl").exists():
        write_examples(taught(list(ExampleFile(args.examples, Notes())), args.model), folder / "taught.jsonl")
    models = {"teacher": args.model, "student, untrained": student}
    for name, losses in LOSSES.items():
        models[f"student, {name}"] = train(folder, student, name, losses)
    values = {name: _values(prepared, folder, name, model) for name, model in models.items()}
    rows = [{"system": name, "value": round(mean(own), 4)} for name, own in values.items()]
    labels, both = (values[f"student, {name}"] for name in LOSSES)
    found = {
        "collection": "time",
        "measure": prepared.task.measure,
        "depth": DEPTH,
        "examples": N_EXAMPLES,
        "rows": rows,
        "p of the teacher's part": t_test(differences(both, labels)),
    }
    path = args.results / "distilled-time.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)


def taught(examples: Sequence[Example], teacher: Path) -> list[Example]:
    """Return some of the examples with the teacher's scores of their texts."""
    some = sample(examples, N_EXAMPLES, 0, lambda one: one.query + one.texts[0])
    scorer = CrossEncoder(find_model(str(teacher)), max_tokens=256, dtype="bf16")
    found = []
    for one in some:
        passages = tuple(Passage("d", i, text, 0, len(text)) for i, text in enumerate(one.texts))
        task = ScoringTask(Query("q", one.query), "d", passages, one.texts)
        found.append(group(one.query, one.texts, scorer.score([task])[0].scores.tolist()))
    return found


def train(folder: Path, student: Path, name: str, losses: str) -> Path:
    """Train a student for one pass over the examples; return its model."""
    output = folder / name.replace(" ", "-")
    settings = {"network.model": student, "loss": losses, "loop.steps": N_EXAMPLES // 8}
    run("train-passages", CONFIG, folder / "taught.jsonl", "-o", output, *assigned(settings))
    return output / "model"


def _values(prepared: Prepared, folder: Path, name: str, model: Path) -> Mapping[str, float]:
    output = folder / f"{name.replace(', ', '-').replace(' ', '-')}.run"
    inputs = (prepared.index, prepared["queries.jsonl"], prepared["bm25.run"])
    read = ("--pipeline", "maxp", "--set", "passages.preset=parade-paper", "--set", "scorer.options.dtype=bf16")
    run("rerank", *inputs, "-o", output, "--model", model, "--depth", DEPTH, *read, "--allow-untrained")
    return values_of(prepared, output, prepared.qrels)


if __name__ == "__main__":
    main()
