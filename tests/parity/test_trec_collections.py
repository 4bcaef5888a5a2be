"""The real topics, judgments, runs and folds of the papers' collections: all are read, with the right counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, summarise
from longrank.formats.folds import read_folds
from longrank.formats.queries import read_queries
from longrank.formats.topics import STRAY_TEXT
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Notes

TOPICS = {
    "cedr.robust04.queries.tsv": (250, "301", "700"),
    "cedr.wt.queries.tsv": (300, "1", "300"),
    "topics.adhoc.301-350.txt": (50, "301", "350"),
    "topics.adhoc.351-400.txt": (50, "351", "400"),
    "topics.adhoc.401-450.txt": (50, "401", "450"),
    "topics.car17v1.5.benchmarkY1test.txt": (2125, "", ""),
    "topics.car17v2.0.benchmarkY1test.txt": (2254, "", ""),
    "topics.core17.txt": (50, "307", "690"),
    "topics.core18.txt": (50, "321", "825"),
    "topics.covid-round1.xml": (30, "1", "30"),
    "topics.covid-round2.xml": (35, "1", "35"),
    "topics.covid-round3.xml": (40, "1", "40"),
    "topics.covid-round4.xml": (45, "1", "45"),
    "topics.covid-round5-udel.xml": (50, "1", "50"),
    "topics.covid-round5.xml": (50, "1", "50"),
    "topics.dl19-doc.txt": (43, "", ""),
    "topics.dl19-passage.txt": (43, "", ""),
    "topics.dl20.txt": (200, "", ""),
    "topics.microblog2011.txt": (50, "MB001", "MB050"),
    "topics.microblog2012.txt": (60, "MB051", "MB110"),
    "topics.microblog2013.txt": (60, "MB111", "MB170"),
    "topics.microblog2014.txt": (55, "MB171", "MB225"),
    "topics.msmarco-doc.dev.txt": (5193, "", ""),
    "topics.msmarco-passage.dev-subset.txt": (6980, "", ""),
    "topics.robust04.txt": (250, "301", "700"),
    "topics.robust05.txt": (50, "303", "689"),
    "topics.terabyte04.701-750.txt": (50, "701", "750"),
    "topics.terabyte05.751-800.txt": (50, "751", "800"),
    "topics.terabyte06.801-850.txt": (50, "801", "850"),
    "topics.web.1-50.txt": (50, "1", "50"),
    "topics.web.51-100.txt": (50, "51", "100"),
    "topics.web.101-150.txt": (50, "101", "150"),
    "topics.web.151-200.txt": (50, "151", "200"),
    "topics.web.201-250.txt": (50, "201", "250"),
    "topics.web.251-300.txt": (50, "251", "300"),
    "topics.www1.english.txt": (100, "0001", "0100"),
    "topics.www2.english.txt": (80, "0001", "0080"),
}
"""file -> how many topics, and the smallest and largest id where they are consecutive enough to know."""


@pytest.fixture(scope="module")
def trec(shared_data: Path) -> Path:
    return shared_data / "trec-topics-qrels"


def _format(name: str) -> str | None:
    return "car" if "car17" in name else "cedr" if name.startswith("cedr.") else None


def test_no_file_of_topics_is_left_out(trec: Path) -> None:
    assert {path.name for path in (trec / "topics").iterdir()} == set(TOPICS)


@pytest.mark.parametrize("name", TOPICS)
def test_topics_are_read(name: str, trec: Path) -> None:
    notes = Notes()
    queries = read_queries(trec / "topics" / name, notes, format=_format(name))
    count, first, last = TOPICS[name]
    ids = [query.query_id for query in queries]
    assert len(ids) == count
    assert not first or (min(ids, key=_key), max(ids, key=_key)) == (first, last)
    assert notes[STRAY_TEXT] == len(notes.lines()) == (name == "topics.web.251-300.txt")
    for query in queries:
        assert query.text == query.text.strip()
        assert not re.match(r"(Number|Description|Narrative)\b:", query.fields.get("description", ""))
        assert all("<" not in text for text in query.fields.values())


def _key(query_id: str) -> tuple[int, str]:
    return (len(query_id), query_id)


def test_the_stray_sentence_of_web_topic_296_is_not_its_query(trec: Path) -> None:
    queries = read_queries(trec / "topics" / "topics.web.251-300.txt", Notes())
    assert len(next(query.text for query in queries if query.query_id == "296").split()) == 4


@pytest.mark.parametrize("field", ["description", "narrative"])
def test_every_robust04_topic_has_a_description_and_a_narrative(field: str, trec: Path) -> None:
    assert len(read_queries(trec / "topics" / "topics.robust04.txt", Notes(), field=field)) == 250


def test_the_titles_of_two_copies_of_robust04_agree(trec: Path) -> None:
    ours = read_queries(trec / "topics" / "topics.robust04.txt", Notes())
    cedr = read_queries(trec / "topics" / "cedr.robust04.queries.tsv", Notes(), format="cedr")
    words = {query.query_id: re.findall(r"\w+", query.text.lower()) for query in cedr}
    differing = [query.query_id for query in ours if re.findall(r"\w+", query.text.lower()) != words[query.query_id]]
    assert len(differing) <= 3


def test_judgments_have_the_counts_their_publisher_lists(trec: Path) -> None:
    for line in (trec / "qrels" / "COUNTS.txt").read_text().splitlines():
        name, *numbers = re.split(r" \w+=", line)
        topics, judgments = map(int, numbers[:2])
        path = trec / "qrels" / name
        judgments += not path.read_bytes().endswith(b"\n")  # the list counts line ends
        qrels = read_qrels(path, Notes())
        assert (len(qrels), sum(map(len, qrels.values()))) == (topics, judgments), name
    assert len(read_qrels(trec / "qrels" / "cedr.wt.qrels.gz", Notes())) > 150


def test_passage_judgments_are_read(trec: Path) -> None:
    names = [*(trec / "fira").glob("*qrels*.txt"), *(trec / "wikipassageqa").glob("qrel_*.txt")]
    assert len(names) == 8
    for path in names:
        assert read_qrels(path, Notes())


RUNS = {
    "capreolus.anserini.covid-r5.abstract.qdel.bm25-top1k.txt.gz": (50, 50000),
    "capreolus.cds_bm25.run.gz": (90, 90000),
    "capreolus.core18_desc_rm3.run.gz": (50, 50000),
    "capreolus.core18_title_rm3.run.gz": (50, 50000),
    "capreolus.genomics_bm25.run.gz": (64, 64000),
    "cedr.robust04.bm25-default.top100.run.gz": (250, 36928),
    "cedr.test.wt12.run.gz": (50, 4707),
    "cedr.test.wt13.run.gz": (50, 4921),
    "cedr.test.wt14.run.gz": (50, 5000),
    "cedr.valid.wt11.run.gz": (50, 5000),
}


def test_runs_are_read(trec: Path) -> None:
    assert {path.name for path in (trec / "runs").iterdir()} == set(RUNS)
    for name, expected in RUNS.items():
        run = read_run(trec / "runs" / name, Notes())
        assert (len(run), sum(1 for _ in run.rows())) == expected, name


@pytest.mark.parametrize(
    ("run", "qrels", "expected"),
    [
        ("capreolus.core18_title_rm3.run.gz", "qrels.core18.txt", (0.3075, 0.4590, 0.4434)),
        ("capreolus.core18_desc_rm3.run.gz", "qrels.core18.txt", (0.2791, 0.3850, 0.3750)),
    ],
)
def test_real_runs_have_trec_evals_values(run: str, qrels: str, expected: tuple[float, ...], trec: Path) -> None:
    measures = ["AP", "P@20", "nDCG@20"]
    values = evaluate(read_qrels(trec / "qrels" / qrels, Notes()), read_run(trec / "runs" / run, Notes()), measures)
    found = [summarise(name, values[name].values()) for name in measures]
    assert found == pytest.approx(expected, abs=5.1e-5)


def test_trec_evals_comments_are_passed_over(shared_data: Path) -> None:
    folder = shared_data / "trec_eval-test" / "test"
    commented = read_qrels(folder / "qrels.test.with-comments", Notes())
    assert "CR#93E-1860" in commented["301"]
    plain = {
        query_id: {d.replace("#", ""): grade for d, grade in judged.items()} for query_id, judged in commented.items()
    }
    assert plain == read_qrels(folder / "qrels.test", Notes())
    assert len(read_run(folder / "results.comment.test", Notes())) > 1


def test_trec_evals_overlong_rows_are_refused(shared_data: Path) -> None:
    with pytest.raises(InputError, match=r"results.trunc:1: 9 columns instead of 6"):
        read_run(shared_data / "trec_eval-test" / "test" / "results.trunc", Notes())


# --- folds ------------------------------------------------------------------------------------


def test_anserinis_five_folds_are_capreolus_yang19(trec: Path) -> None:
    lists = read_folds(trec / "folds" / "anserini.robust04-paper2-folds.json", Notes())
    named = read_folds(trec / "folds" / "capreolus.rob04_yang19_folds.json", Notes())
    rotated = {frozenset(f.test): (frozenset(f.train), frozenset(f.dev)) for f in lists.values()}
    assert rotated == {frozenset(f.test): (frozenset(f.train), frozenset(f.dev)) for f in named.values()}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("anserini.robust04-paper1-folds", [(0, 125, 125)] * 2),
        ("capreolus.core17_birch_folds", [(30, 10, 10)] * 5),
        ("capreolus.covid_random_folds", [(30, 10, 10)] * 5),
        ("capreolus.genomics_5folds", [(38, 13, 13)] * 3 + [(39, 13, 12), (39, 12, 13)]),
        ("capreolus.rob04_cedr_folds", [(150, 50, 50)] * 3 + [(150, 50, 49), (150, 49, 50)]),
    ],
)
def test_folds_are_read(name: str, sizes: list[tuple[int, int, int]], trec: Path) -> None:
    notes = Notes()
    folds = read_folds(trec / "folds" / f"{name}.json", notes)
    assert [(len(fold.train), len(fold.dev), len(fold.test)) for fold in folds.values()] == sizes
    assert notes.lines() == []


def test_the_gov2_folds_lose_their_repetitions(trec: Path) -> None:
    notes = Notes()
    folds = read_folds(trec / "folds" / "capreolus.gov2_maxp_folds.json", notes)
    assert {part: sorted(len(getattr(fold, part)) for fold in folds.values()) for part in ("train", "dev", "test")} == {
        "train": [34, 41, 75],
        "dev": [34, 41, 75],
        "test": [34, 41, 75],
    }
    tested = [query_id for fold in folds.values() for query_id in fold.test]
    assert sorted(tested) == [str(number) for number in range(701, 851)]
    assert notes["repeated query ids in folds"] == 75
