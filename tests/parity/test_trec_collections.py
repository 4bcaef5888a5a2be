"""The real topics, judgments, runs and folds of the papers' collections: all are read, with the right counts."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, summarise
from longrank.evaluation.residual import judged_documents, residual_qrels, residual_run
from longrank.formats.folds import read_folds
from longrank.formats.queries import read_queries
from longrank.formats.topics import STRAY_TEXT
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Notes, Qrels, Run, ScoredDoc

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


COVID, CEDR = "capreolus.anserini.covid-r5.abstract.qdel.bm25-top1k", "cedr.robust04.bm25-default.top100"
VALUES = {
    ("capreolus.core18_title_rm3", "core18.txt"): {"AP": 0.3075, "P@20": 0.4590, "P@30": 0.4160, "nDCG@20": 0.4434},
    ("capreolus.core18_desc_rm3", "core18.txt"): {"AP": 0.2791, "P@20": 0.3850, "P@30": 0.3707, "nDCG@20": 0.3750},
    (CEDR, "robust04.301-450.partial.txt"): {"AP": 0.1955, "P@20": 0.3683, "nDCG@20": 0.4311},
    (COVID, "covid-complete.txt"): {"AP": 0.2814, "nDCG@10": 0.7301, "nDCG@20": 0.6979},
    (COVID, "covid-round5.txt"): {"AP": 0.1396, "nDCG@10": 0.2798, "nDCG@20": 0.2812},
}
"""Run and judgments -> what trec_eval 10.0-rc3 says of them, with -c."""


@pytest.mark.parametrize(("run", "qrels"), VALUES)
def test_real_runs_have_trec_evals_values(run: str, qrels: str, trec: Path) -> None:
    expected = VALUES[run, qrels]
    values = evaluate(_qrels(trec, qrels), _run(trec, run), expected)
    assert {name: summarise(name, values[name].values()) for name in expected} == pytest.approx(expected, abs=5.1e-5)


def test_cedrs_run_of_web_track_2012_has_trec_evals_values(trec: Path) -> None:
    judged = read_qrels(trec / "qrels" / "cedr.wt.qrels.gz", Notes())
    qrels = {query_id: grades for query_id, grades in judged.items() if 151 <= int(query_id) <= 200}
    values = evaluate(qrels, _run(trec, "cedr.test.wt12"), ["AP", "nDCG@20"])
    found = {name: summarise(name, per_query.values()) for name, per_query in values.items()}
    assert found == pytest.approx({"AP": 0.1252, "nDCG@20": 0.1410}, abs=5.1e-5)


def test_anserinis_run_of_trec_covid_has_the_values_that_anserini_publishes(trec: Path) -> None:
    # docs/experiments-covid.md in castorini/anserini, round 5, abstract index, UDel's queries
    published = {"nDCG@10": 0.7301, "Judged@10": 0.9980, "nDCG@20": 0.6979, "Judged@20": 0.9900, "R@1000": 0.4839}
    values = evaluate(_qrels(trec, "covid-complete.txt"), _run(trec, COVID), published)
    assert {name: summarise(name, values[name].values()) for name in published} == pytest.approx(published, abs=5.1e-5)


def _qrels(trec: Path, name: str) -> Qrels:
    return read_qrels(trec / "qrels" / f"qrels.{name}", Notes())


def _run(trec: Path, name: str) -> Run:
    (path,) = (trec / "runs").glob(f"{name}.*")
    return read_run(path, Notes())


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


# --- TREC-COVID: residual evaluation ----------------------------------------------------------


def test_round_2_is_what_is_judged_so_far_without_round_1(trec: Path) -> None:
    before = judged_documents([_qrels(trec, "covid-round1.txt")])
    assert residual_qrels(_qrels(trec, "covid-round2-cumulative.txt"), before) == _qrels(trec, "covid-round2.txt")


@pytest.mark.parametrize(
    ("cumulative", "before", "this_round", "renamed"),
    [
        ("covid-round3-cumulative.txt", "covid-round2-cumulative.txt", "covid-round3.txt", 280),
        ("covid-round4-cumulative.txt", "covid-round3-cumulative.txt", "covid-round4.txt", 50),
        ("covid-complete.txt", "covid-round4-cumulative.txt", "covid-round5.txt", 222),
    ],
)
def test_later_rounds_are_that_but_for_documents_that_changed_their_ids(
    cumulative: str, before: str, this_round: str, renamed: int, trec: Path
) -> None:
    """CORD-19 renamed documents between its releases; what is judged so far lists them under their new ids."""
    so_far, new = _qrels(trec, cumulative), _qrels(trec, this_round)
    left = _pairs(residual_qrels(so_far, judged_documents([_qrels(trec, before)])))
    assert _pairs(new) <= left
    assert len(left) - len(_pairs(new)) == renamed
    all_judged_before = residual_qrels(so_far, judged_documents([new]))  # under the ids that this round's corpus has
    left = _pairs(residual_qrels(so_far, judged_documents([all_judged_before])))
    assert {pair for pair in left if pair[2] >= 0} == {pair for pair in _pairs(new) if pair[2] >= 0}


def _pairs(qrels: Qrels) -> set[tuple[str, str, int]]:
    return {(query_id, doc_id, grade) for query_id, judged in qrels.items() for doc_id, grade in judged.items()}


def test_a_residual_run_has_the_values_of_pytrec_eval_on_rows_filtered_by_hand(trec: Path) -> None:
    import pytrec_eval

    qrels, earlier, run = (
        _qrels(trec, "covid-round5.txt"),
        _qrels(trec, "covid-round4-cumulative.txt"),
        _run(trec, COVID),
    )
    rows: dict[str, dict[str, float]] = {}
    for row in run.rows():
        if row.doc_id not in earlier.get(row.query_id, {}):
            rows.setdefault(row.query_id, {})[row.doc_id] = row.score
    direct = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_20"}).evaluate(rows)
    ours = evaluate(qrels, residual_run(run, judged_documents([earlier])), ["AP", "nDCG@20"])
    for query_id in qrels:
        assert ours["AP"][query_id] == pytest.approx(direct[query_id]["map"], abs=1e-9)
        assert ours["nDCG@20"][query_id] == pytest.approx(direct[query_id]["ndcg_cut_20"], abs=1e-9)


# --- TREC Deep Learning 2019: -l 2 and -M 100 --------------------------------------------------


@pytest.mark.parametrize(("qrels", "level", "depth"), [("dl19-passage.txt", 2, None), ("dl19-doc.txt", None, 100)])
def test_options_of_deep_learning_2019_give_the_values_of_pytrec_eval(
    qrels: str, level: int | None, depth: int | None, trec: Path
) -> None:
    import pytrec_eval

    judged = _qrels(trec, qrels)
    run = _made_up(judged)
    cut = {query_id: {row.doc_id: row.score for row in run[query_id][:depth]} for query_id in run}
    direct = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut_10"}, relevance_level=level or 1).evaluate(cut)
    values = evaluate(judged, run, ["AP", "nDCG@10"], level=level, max_depth=depth)
    plain = evaluate(judged, run, ["AP", "nDCG@10"])
    ap = values["AP(rel=2)" if level else "AP"]
    for query_id in judged:
        assert ap[query_id] == pytest.approx(direct.get(query_id, {}).get("map", 0.0), abs=1e-9)
        assert values["nDCG@10"][query_id] == pytest.approx(direct.get(query_id, {}).get("ndcg_cut_10", 0.0), abs=1e-9)
    assert values["nDCG@10"] == plain["nDCG@10"]  # grades have no level, and 10 is above the depth
    assert summarise("AP", ap.values()) != pytest.approx(summarise("AP", plain["AP"].values()), abs=1e-3)


def _made_up(judged: Qrels) -> Run:
    """A run that ranks by grade now and then, with ties, unjudged documents, and without the last topic."""
    rng = random.Random(7)
    rows = []
    for query_id, grades in list(judged.items())[:-1]:
        found = rng.sample(sorted(grades), min(len(grades), 150)) + [f"unjudged{n}" for n in range(50)]
        rows += [ScoredDoc(query_id, d, float(grades.get(d, 0) * rng.randint(0, 1) + rng.randint(0, 9))) for d in found]
    return Run("made-up", rows)


# --- folds ------------------------------------------------------------------------------------


def test_anserinis_five_folds_are_capreolus_yang19(trec: Path) -> None:
    lists = read_folds(trec / "folds" / "anserini.robust04-paper2-folds.json", Notes())
    named = read_folds(trec / "folds" / "capreolus.rob04_yang19_folds.json", Notes())
    rotated = {frozenset(f.test): (frozenset(f.train), frozenset(f.dev)) for f in lists.values()}
    assert rotated == {frozenset(f.test): (frozenset(f.train), frozenset(f.dev)) for f in named.values()}


FIFTHS = {50: [(30, 10, 10)] * 5, 90: [(54, 18, 18)] * 5, 250: [(150, 50, 50)] * 5}
FOLDS = {
    "anserini.robust04-paper1-folds": [(0, 125, 125)] * 2,
    "anserini.robust04-paper2-folds": FIFTHS[250],
    "capreolus.cds_5folds": FIFTHS[90],
    "capreolus.core17_birch_folds": FIFTHS[50],
    "capreolus.core18_birch_folds": FIFTHS[50],
    "capreolus.core18_desc_folds": FIFTHS[50],
    "capreolus.core18_title_folds": FIFTHS[50],
    "capreolus.covid_random_folds": FIFTHS[50],
    "capreolus.genomics_5folds": [(38, 13, 13)] * 3 + [(39, 13, 12), (39, 12, 13)],
    "capreolus.gov2_maxp_folds": [(34, 41, 75), (41, 75, 34), (75, 34, 41)],
    "capreolus.rob04_cedr_folds": [(150, 50, 50)] * 3 + [(150, 50, 49), (150, 49, 50)],
    "capreolus.rob04_huston14_desc_folds": FIFTHS[250],
    "capreolus.rob04_huston14_title_folds": FIFTHS[250],
    "capreolus.rob04_yang19_folds": FIFTHS[250],
}
"""file -> how many queries each fold trains, chooses and tests on."""


def test_no_file_of_folds_is_left_out(trec: Path) -> None:
    assert {path.stem for path in (trec / "folds").glob("*folds.json") if "params" not in path.name} == set(FOLDS)


@pytest.mark.parametrize("name", FOLDS)
def test_folds_are_read(name: str, trec: Path) -> None:
    notes = Notes()
    folds = read_folds(trec / "folds" / f"{name}.json", notes)
    assert [(len(fold.train), len(fold.dev), len(fold.test)) for fold in folds.values()] == FOLDS[name]
    assert notes["repeated query ids in folds"] == (75 if "gov2" in name else 0)
    tested = [query_id for fold in folds.values() for query_id in fold.test]
    assert len(tested) == len(set(tested)), "a query is tested once"
    only_trained_on = {"672"} if "cedr" in name else set()  # no document is relevant to it
    for fold in folds.values():
        assert {*fold.train, *fold.dev, *fold.test} - only_trained_on == set(tested)


def test_cedrs_training_pairs_are_of_the_queries_that_its_folds_train_on(trec: Path) -> None:
    folds = read_folds(trec / "folds" / "capreolus.rob04_cedr_folds.json", Notes())
    huston = read_folds(trec / "folds" / "capreolus.rob04_huston14_title_folds.json", Notes())
    for number, fold in enumerate(folds.values(), 1):
        pairs = gzip.decompress((trec / "folds" / f"cedr.robust04.f{number}.train.pairs.gz").read_bytes()).decode()
        trained = {row.split("\t")[0] for row in pairs.splitlines()}
        assert trained == set(fold.train)
        assert any(trained == set(other.train) for other in huston.values())


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
