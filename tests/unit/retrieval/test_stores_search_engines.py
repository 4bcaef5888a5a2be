"""OpenSearch and Elasticsearch as first stages: their official clients against the documented wire format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longrank import rerank, retrieve, search
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.retrieval.stores import open_store
from longrank.types import Notes, Query
from search_engine_server import PASSWORD, Engine, serving
from tiny_models import save_encoder

CLIENTS = {"opensearch": "opensearchpy", "elasticsearch": "elasticsearch"}
DOCUMENTS = {
    "a": {"title": "Harbour", "page": {"body": "The lights. " * 200 + "Fog hides the harbour."}, "year": 1921},
    "b": {"title": "Tides", "page": {"body": "Äpfel 🦀 of the harbour and the fog."}, "number": 7},
    "c": {"title": "Empty"},
}
FIELDS = 'text = "page.body"\nfields = ["title^2", "page"]\nmetadata = ["year"]\n'
TITLES = 'text = "page.body"\nfields = ["title"]\n'


@pytest.fixture(params=list(CLIENTS))
def name(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(CLIENTS[request.param], reason=f"needs the extra {request.param}")
    return str(request.param)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with serving(DOCUMENTS) as running:
        yield running


@pytest.fixture
def store(name: str, engine: Engine, tmp_path: Path) -> Any:
    def written(settings: str = FIELDS, url: str | None = None, index: str = "pages") -> str:
        content = f'url = "{url or engine.url}"\nindex = "{index}"\n{settings}'
        (tmp_path / "pages.toml").write_text(content)
        return f"{name}:{tmp_path / 'pages.toml'}"

    return written


def test_passages_of_a_search_are_spans_of_the_stored_texts(store: Any, engine: Engine) -> None:
    results = search(store(), "fog harbour", pipeline="lexical", k=5)
    assert sorted(result.doc_id for result in results) == ["a", "b"]
    assert {result.doc_id: result.metadata for result in results} == {"a": {"year": 1921}, "b": {}}
    for result in results:
        text = DOCUMENTS[result.doc_id]["page"]["body"]
        assert all(text[passage.start : passage.end] == passage.text for passage in result.passages)
    (request,) = engine.requests
    assert request == {"query": {"multi_match": {"query": "fog harbour", "fields": ["title^2", "page"]}}, "size": 100}
    assert engine.paths == ["/pages/_search"]


def test_title_and_text_are_searched_unless_fields_are_named(store: Any, engine: Engine) -> None:
    retrieve(store('text = "body"\n'), {"q": 'zz "quoted" {query}'}, k=7)
    match = {"query": 'zz "quoted" {query}', "fields": ["title", "body"]}
    assert engine.requests == [{"query": {"multi_match": match}, "size": 7}]


def test_a_run_is_reranked_by_documents_of_the_store(store: Any, engine: Engine) -> None:
    run = retrieve(store(), {"q": "fog harbour"}, k=10)
    reranked = rerank(store(), {"q": "fog harbour"}, run, pipeline="lexical")
    assert {row.doc_id for row in reranked["q"]} == {"a", "b"}
    assert engine.requests[-1] == {"query": {"ids": {"values": ["a", "b"]}}, "size": 3}


def test_a_field_may_be_the_id(store: Any, engine: Engine) -> None:
    source = store('text = "page.body"\nid = "number"\nfields = ["page"]\n')
    with pytest.raises(InputError, match=r"document 'a' lacks the field of the id .*'number'"):
        retrieve(source, {"q": "fog"})
    found = retrieve(source, {"q": "Äpfel"})
    assert [row.doc_id for row in found["q"]] == ["7"]
    open_store(source).documents(["7"], Notes())
    assert engine.requests[-1] == {"query": {"terms": {"number": ["7"]}}, "size": 2}


def test_an_id_of_several_documents_is_refused_when_documents_are_read_by_id(store: Any, engine: Engine) -> None:
    passages = {f"p{n}": {"number": str(n // 5), "text": f"fog {n}"} for n in range(20)}
    engine.documents = passages
    source = store('id = "number"\nfields = ["text"]\n')
    run = retrieve(source, {"q": "fog"}, k=20)
    assert len(run["q"]) == 4
    with pytest.raises(InputError, match=r"the store has several texts with this id .*'\d'"):
        rerank(source, {"q": "fog"}, run, pipeline="lexical")


def test_a_field_of_ids_that_is_analysed_is_refused_when_documents_are_read_by_id(
    store: Any, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.documents = {f"p{n}": {"name": name, "text": "fog"} for n, name in enumerate(["report-1", "report"])}
    engine.analysed = ("name",)
    source = store('id = "name"\nfields = ["text"]\n')
    with pytest.raises(InputError, match=r"field of the id, name, is analysed: .*'report-1'.* of type keyword"):
        open_store(source).documents(["report"], Notes())
    engine.documents = {"p": {"name": "7", "text": "fog"}}
    monkeypatch.setattr(engine, "_terms", lambda name, document: {"007"})  # as a field of numbers
    assert [found.doc_id for found in open_store(source).documents(["007"], Notes())] == ["7"]


@pytest.mark.neural
def test_a_request_of_the_user_gets_the_query_vector(store: Any, engine: Engine, tmp_path: Path) -> None:
    body = (
        '[body.query.script_score]\nquery = {match_all = {}}\n[body.query.script_score.script]\nsource = "dot"\n'
        'params = {vector = "%(vector)s", k = "%(k)s", text = "%(query)s"}\n'
    )
    model = save_encoder(tmp_path / "model")
    engine.documents = {key: {**one, "vector": [1.0] * 16} for key, one in DOCUMENTS.items()}
    source = store(f'text = "page.body"\nencoder = "{model}"\nmetadata = []\n{body}')
    opened, notes, other = open_store(source), Notes(), Notes()
    opened.search(Query("q", '"%(vector)s" is a text'), 3, notes)
    opened.search(Query("long", "fog " * 600), 3, other)
    cut = [[line for line in each.lines() if "queries cut at the encoder's" in line] for each in (notes, other)]
    assert [len(lines) for lines in cut] == [0, 1]
    assert "1 (first: query long)" in cut[1][0]
    parameters = engine.requests[0]["query"]["script_score"]["script"]["params"]
    assert (parameters["k"], parameters["text"]) == (3, '"%(vector)s" is a text')
    assert sum(x * x for x in parameters["vector"]) == pytest.approx(1.0, abs=1e-5)


def test_a_document_without_the_text_is_empty_and_counted(store: Any) -> None:
    notes = Notes()
    found = open_store(store(TITLES)).search(Query("q", "empty tides"), 5, notes)
    assert {item.document.doc_id: item.document.text for item in found}["c"] == ""
    assert notes["documents with an empty text"] == 1


IN_PART = [
    {"timed_out": True},
    {"_shards": {"total": 2, "successful": 1, "failed": 1}},
    {"_clusters": {"total": 2, "successful": 1, "skipped": 1}},
]


@pytest.mark.parametrize("more", IN_PART)
def test_an_answer_in_part_is_counted(store: Any, engine: Engine, more: dict[str, Any], name: str) -> None:
    engine.more = more
    run = retrieve(store(), {"q": "fog"})
    assert len(run["q"]) == 2
    assert "answered in part" in " ".join(run.notes.lines())


def test_an_answer_in_part_that_lacks_documents_of_a_run_is_refused(store: Any, engine: Engine) -> None:
    source = store()
    engine.more = IN_PART[1]
    notes = Notes()
    assert len(open_store(source).documents(["a", "b"], notes)) == 2
    assert "requests for documents that" in notes.lines()[0]
    assert "answered in part" in notes.lines()[0]
    with pytest.raises(InputError, match="answered in part, and documents may be lacking: time was over, or shards"):
        open_store(source).documents(["a", "b"] * 50 + ["lost"], Notes())  # the second request lacks it
    with pytest.raises(InputError, match="answered in part"):
        rerank(source, {"q": "fog harbour"}, {"q": {"a": 2.0, "lost": 1.0}}, pipeline="lexical", missing="keep")
    by_field = store('text = "page.body"\nid = "number"\nfields = ["page"]\n')
    with pytest.raises(InputError, match="answered in part"):
        open_store(by_field).documents(["7"], Notes())


NO_SEARCH = [{"hits": hits} for hits in (None, {"total": 3}, [{"_id": "a"}], "a page", {"hits": [3]})]


@pytest.mark.parametrize("change", [{"length": 40}, *({"more": one} for one in NO_SEARCH)])
def test_an_answer_of_something_else_is_refused(store: Any, engine: Engine, change: dict[str, Any]) -> None:
    source = store()
    for name, value in change.items():
        setattr(engine, name, value)
    with pytest.raises(InputError, match=r"the answer from http://\S+ is not that of a search .*; see `url`"):
        retrieve(source, {"q": "fog"})


def test_passwords_and_keys_stand_in_files_of_their_own(
    store: Any, engine: Engine, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.password, engine.key = PASSWORD, "k3y"
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    (tmp_path / "wrong").write_text("wr0ng")
    (tmp_path / "key").write_text("k3y\n")
    assert len(retrieve(store(f'{FIELDS}user = "ann"\npassword_file = "password"\n'), {"q": "fog"})["q"]) == 2
    assert main(["search", store(f'{FIELDS}user = "ann"\npassword_file = "wrong"\n'), "fog"]) == 2
    with_key = store(f'{FIELDS}key_file = "key"\n')
    if name == "elasticsearch":
        assert len(retrieve(with_key, {"q": "fog"})["q"]) == 2
    else:
        with pytest.raises(InputError, match="takes a user and a password"):
            retrieve(with_key, {"q": "fog"})
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert "refuses (401): unable to authenticate user [ann]" in line
    assert "password_file" in line
    assert "wr0ng" not in line


@pytest.mark.parametrize(
    ("settings", "index", "message"),
    [
        (FIELDS, "lost", r"refuses \(404\): no such index \[lost\]; see `index`"),
        ('[body.query.fuzy]\nt = "%(query)s"', "pages", r"refuses \(400\): unknown query \[fuzy\]; see `fields`"),
        ('text = "lost"\nfields = ["title"]', "pages", "no document has this field .*'lost'.*documents have"),
        (FIELDS + 'user = "ann"', "pages", "need each other"),
        (FIELDS + 'user = "ann"\npassword_file = "lost"', "pages", "lost: cannot be read"),
        (FIELDS + 'ca_certs = "lost"', "pages", "lost: no such file"),
        (FIELDS + 'encoder = "minilm"', "pages", "needs a `body`"),
        ('[body.query.match]\nt = "x"', "pages", "must contain"),
        ('[body.query.match]\nt = "%(query)s"\nh = 10:00:00', "pages", r"`body` is no JSON: it lacks .*time\(10, 0\)"),
        ('[body.query.match]\nt = "%(query)s"\nh = inf', "pages", "`body` is no JSON: Out of range float"),
        ('[body.query.match]\nt = "fog %(query)s"', "pages", "must be the whole text"),
        ('[body.query.match]\nt = "%(vector)s"', "pages", "need each other"),
        (FIELDS + "[body.query.match]\nt = '%(query)s'", "pages", "remove `fields`"),
    ],
)
def test_a_wrong_setting_is_one_line(store: Any, settings: str, index: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        search(store(settings, index=index), "tides", pipeline="lexical")
    assert str(caught.value).isprintable()
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("url", ["localhost:9200", "http://localhost", "http://ann:s3cret@localhost:9200"])
def test_an_address_is_scheme_host_and_port(store: Any, url: str) -> None:
    with pytest.raises(InputError, match="`url` must be http://HOST:PORT") as caught:
        search(store(FIELDS, url=url), "tides", pipeline="lexical")
    assert "s3cret" not in str(caught.value)


def test_an_engine_out_of_reach_or_too_slow_is_one_line(store: Any, engine: Engine) -> None:
    with pytest.raises(InputError, match=r"cannot connect to .* at http://127.0.0.1:1: .*see `url`"):
        search(store(FIELDS, url="http://127.0.0.1:1"), "tides", pipeline="lexical")
    engine.delay = 1.0
    with pytest.raises(InputError, match=r"no answer in 0\.2 s from http://127.*; raise `timeout`"):
        search(store(FIELDS + "timeout = 0.2\n"), "tides", pipeline="lexical")


@pytest.mark.parametrize("url", ["http:// l:0", "http://cal:601\\t"])
def test_an_address_that_the_client_cannot_read_is_refused(store: Any, url: str) -> None:
    with pytest.raises(InputError, match=r"`url` cannot be used: |cannot connect to "):
        search(store(FIELDS, url=url), "tides", pipeline="lexical")


def test_an_index_without_sources_is_refused(store: Any, engine: Engine) -> None:
    hit = {"_index": "pages", "_id": "a", "_score": 1.0}
    engine.more = {"hits": {"total": {"value": 1, "relation": "eq"}, "hits": [hit]}}
    with pytest.raises(InputError, match="documents come without their source"):
        search(store(), "tides", pipeline="lexical")
