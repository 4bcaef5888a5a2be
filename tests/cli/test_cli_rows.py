"""rows by its documented command line: what is written of each source, and what is refused."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.training.passage_data.examples import ExampleFile
from longrank.types import Notes

TOPIC = "<top>\n<num> Number: MB{:03d} </num>\n<title> {} </title>\n</top>\n"
TWEETS = [
    {"doc_id": "a", "text": "BBC cuts jobs http://t.co/x1"},
    {"doc_id": "b", "text": "lunch"},
    {"doc_id": "c", "text": "FIFA"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where two years of topics and judgments, tweets, triples and a fold of CAR lie."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.chdir(folder)
    texts = {
        "2011.topics": TOPIC.format(1, "staff cuts"),
        "2012.topics": TOPIC.format(51, "soccer"),
        "2011.qrels": "1 0 a 2\n1 0 b 0\n",
        "2012.qrels": "51 0 c 1\n51 0 a 0\n",
        "tweets.jsonl": "".join(json.dumps(tweet) + "\n" for tweet in TWEETS),
        "triples.tsv": "q\tgood\tbad\nr\tright\twrong\n",
        "car.topics": "enwiki:Tea/Black%20tea\n",
        "car.qrels": "enwiki:Tea/Black%20tea 0 b 1\n",
        "car.run": "enwiki:Tea/Black%20tea Q0 a 1 2 t\nenwiki:Tea/Black%20tea Q0 b 2 1 t\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def run(command: str) -> int:
    """Run a command line without blanks in its words."""
    return main(command.split())


def rows(path: Path) -> list[tuple[str, str, int]]:
    """Return the rows of a file, by what training reads them with."""
    return [(one.query, one.texts[0], int(one.labels[0])) for one in ExampleFile(path, Notes())]


MICROBLOG = (
    "rows microblog tweets.jsonl --queries 2011.topics --queries 2012.topics --qrels 2011.qrels --qrels 2012.qrels"
)


def test_judged_tweets_are_rows_tweet_by_tweet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{MICROBLOG} -o rows.jsonl") == 0
    assert rows(folder / "rows.jsonl") == [
        ("staff cuts", "BBC cuts jobs", 1),
        ("soccer", "BBC cuts jobs", 0),
        ("staff cuts", "lunch", 0),
        ("soccer", "FIFA", 1),
    ]
    assert "rows.jsonl: 4 rows, 2 relevant" in capsys.readouterr().err
    assert run(f"{MICROBLOG.replace('--queries 2012.topics ', '')} -o fewer.jsonl") == 0
    assert "judged topics without a query, left out: 1" in capsys.readouterr().err


def test_queries_that_validate_have_a_file_of_their_own(folder: Path) -> None:
    command = f"{MICROBLOG} -o rows.jsonl --dev dev.jsonl --dev-queries 1"
    assert run(command) == 0
    train, dev = ({query for query, _, _ in rows(folder / name)} for name in ("rows.jsonl", "dev.jsonl"))
    assert train | dev == {"staff cuts", "soccer"} and len(train) == len(dev) == 1
    before = (folder / "dev.jsonl").read_bytes()
    assert run(command) == 0
    assert (folder / "dev.jsonl").read_bytes() == before


def test_a_kill_between_the_two_files_leaves_no_dev_file_of_an_earlier_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queries may train now."""

    def killed(message: str) -> None:
        raise KeyboardInterrupt

    command = f"{MICROBLOG} -o rows.jsonl --dev dev.jsonl --dev-queries 1"
    assert run(command) == 0
    monkeypatch.setattr("longrank.cli.console.note", killed)  # which tells that a file is written
    assert run(f"{command} --seed 7") == 130
    assert (folder / "rows.jsonl").exists() and not (folder / "dev.jsonl").exists()


def test_a_failed_call_leaves_the_files_of_the_earlier_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    command = f"{MICROBLOG} -o rows.jsonl --dev dev.jsonl --dev-queries 1"
    assert run(command) == 0
    before = {name: (folder / name).read_bytes() for name in ("rows.jsonl", "dev.jsonl")}
    monkeypatch.setattr("longrank.storage.files.sync", full)
    assert run(f"{command} --seed 7") == 1
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_triple_is_two_rows(folder: Path) -> None:
    assert run("rows msmarco triples.tsv -o rows.jsonl") == 0
    assert rows(folder / "rows.jsonl") == [("q", "good", 1), ("q", "bad", 0), ("r", "right", 1), ("r", "wrong", 0)]
    assert run("rows msmarco triples.tsv -o first.jsonl --triples 1") == 0
    assert rows(folder / "first.jsonl") == [("q", "good", 1), ("q", "bad", 0)]


def test_the_best_paragraphs_of_a_heading_are_rows(folder: Path) -> None:
    assert run("index tweets.jsonl -o my.index") == 0
    assert run("rows car my.index car.topics car.qrels car.run -o rows.jsonl") == 0
    assert rows(folder / "rows.jsonl") == [("Tea Black tea", TWEETS[0]["text"], 0), ("Tea Black tea", "lunch", 1)]
    assert run("rows car my.index car.topics car.qrels car.run -o first.jsonl --depth 1") == 0
    assert len(rows(folder / "first.jsonl")) == 1


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("rows microblg tweets.jsonl -o {}", "microblg"),
        ("rows msmarco nowhere.tsv -o {}", "nowhere.tsv: no such file"),
        ("rows msmarco tweets.jsonl -o {}", "tweets.jsonl:1: 1 column instead of 3"),
        ("rows msmarco triples.tsv -o {} --triples 0", "must be at least 1"),
        ("rows msmarco triples.tsv -o triples.tsv", "is also an input"),
        ("rows car nowhere car.topics car.qrels car.run -o {}", "nowhere: "),
        (f"{MICROBLOG} -o {{}} --dev-queries 1", "--dev-queries belongs to --dev"),
        (f"{MICROBLOG} -o {{}} --dev dev.jsonl", "of 2 queries some must train and some validate (got 59)"),
        (f"{MICROBLOG} -o {{}} --dev {{}}", "is also an input"),
        (f"{MICROBLOG} -o {{}} --format jsonll", "did you mean 'jsonl'?"),
        (f"{MICROBLOG} --queries 2011.topics -o {{}}", "topic 1 is also in 2011.topics"),
        (f"{MICROBLOG} --qrels again.qrels -o {{}}", "topic 1 is also judged in 2011.qrels"),
        (
            "rows microblog car.topics --format text --queries 2011.topics --qrels 2011.qrels -o {}",
            "no tweet is judged",
        ),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    folder: Path, command: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "again.qrels").write_text("1 0 b 1\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run(command.format(*["rows.jsonl"] * command.count("{}"))) == 2
    said = capsys.readouterr().err
    assert what in said and said.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_neither_file_is_written_where_one_would_be_empty(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "2012.qrels").write_text("51 0 gone 1\n")
    for seed in range(4):  # the query without tweets trains or validates
        assert run(f"{MICROBLOG} -o rows.jsonl --dev dev.jsonl --dev-queries 1 --seed {seed}") == 2
    assert "no tweet is judged" in capsys.readouterr().err
    assert not (folder / "rows.jsonl").exists() and not (folder / "dev.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-o rows.jsonl --dev dev.jsonl.gz", "dev.jsonl.gz: lines of a packed file cannot be read by number"),
        ("-o rows.jsonl --seed 7", "--seed belongs to --dev (got 7)"),
    ],
)
def test_what_cannot_be_written_whole_is_not_written_in_part(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    before = sorted(folder.iterdir())
    assert run(f"{MICROBLOG} {options}") == 2
    assert said in capsys.readouterr().err and sorted(folder.iterdir()) == before
