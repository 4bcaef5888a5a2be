from __future__ import annotations

import gzip
import http.server
import threading
from pathlib import Path
from typing import Any

import pytest

from growth import assert_linear_time
from longrank.errors import InputError
from longrank.formats.lines import TextOptions
from longrank.formats.queries import QUERY_FORMATS, read_queries
from longrank.types import Notes, Query

NAMES = {"jsonl": "q.jsonl", "tsv": "q.tsv", "trec": "q.txt", "xml": "q.xml", "car": "q.txt", "cedr": "q.tsv"}


def read(folder: Path, text: str, name: str = "topics.txt", notes: Notes | None = None, **options: Any) -> list[Query]:
    (folder / name).write_bytes(text.encode())
    return read_queries(folder / name, Notes() if notes is None else notes, **options)


EXAMPLES = {
    "jsonl": '{"_id": "7", "text": " dogs ", "title": "Dogs", "metadata": {}}\n\n{"qid": 8, "text": "cats"}\n',
    "tsv": "7\t dogs\r\n8\tcats \n",
    "trec": "<top><num> Number: 7 <title> dogs </top>\n<top><num>8</num><title>cats</title></top>\n",
    "xml": "<t><topic number='7'><query>dogs</query></topic><topic number='8'><query>cats</query></topic></t>",
    "car": "7\n8\n",
    "cedr": "query\t7\tdogs\nquery\t8\tcats  \n",
}


@pytest.mark.parametrize("name", QUERY_FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_queries(name: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / (NAMES[name] + ".gz" * packed)
    path.write_bytes(gzip.compress(EXAMPLES[name].encode()) if packed else EXAMPLES[name].encode())
    queries = read_queries(path, Notes(), format=name if name in ("car", "cedr") else None)
    expected = [("7", "7"), ("8", "8")] if name == "car" else [("7", "dogs"), ("8", "cats")]
    assert [(query.query_id, query.text) for query in queries] == expected


@pytest.mark.parametrize("name", ["jsonl", "tsv", "trec", "xml"])
def test_a_format_is_told_by_its_content(name: str, tmp_path: Path) -> None:
    assert len(read(tmp_path, "\n" + EXAMPLES[name], "noname")) == 2


def test_a_format_that_cannot_be_told_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"topics.txt:1: the query format is unknown .* --query-format \(jsonl, tsv"):
        read(tmp_path, EXAMPLES["car"])
    with pytest.raises(InputError, match=r"unknown query format .* did you mean 'trec'"):
        read(tmp_path, EXAMPLES["trec"], format="treck")


# --- TREC topics ------------------------------------------------------------------------------

TWO_TOPICS = """
<top>
<num> Number: 301
<title> International  Organized Crime

<desc> Description:
Identify organizations, the R&D of x<y and
their <b>activity</b>.
<narr> Narrative
None.
</top>

<top>
<num> Number: MB001 </num>
<query> BBC </query>
<querytime> Tue Feb 08 </querytime>
</top>
"""


def test_topics_with_and_without_closing_tags_are_read(tmp_path: Path) -> None:
    first, second = read(tmp_path, TWO_TOPICS)
    assert first == Query(
        "301",
        "International Organized Crime",
        {
            "title": "International Organized Crime",
            "description": "Identify organizations, the R&D of x<y and their <b>activity</b>.",
            "narrative": "None.",
        },
    )
    assert second == Query("MB001", "BBC", {"title": "BBC", "querytime": "Tue Feb 08"})


def test_a_label_is_stripped_once_and_only_where_it_is_one(tmp_path: Path) -> None:
    text = "<top><num>Number: 1<title>Topic: Description: of\n<desc>Narrative: art\n<narr>Narratives differ</top>"
    (query,) = read(tmp_path, text)
    assert query.fields == {
        "title": "Description: of",
        "description": "Narrative: art",
        "narrative": "Narratives differ",
    }


def test_a_title_that_is_only_its_label_word_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path, "<top><num>1\n<title> Topic\n<desc> Description\n</top>")[0].fields == {
        "title": "Topic",
        "description": "",
    }


def test_ten_megabytes_of_tags_on_one_line_take_linear_time(tmp_path: Path) -> None:
    def narrative(n: int) -> str:
        return read(tmp_path, "<top><num>1</num><title>a</title><narr>" + "<b>" * n + "</narr></top>")[0].fields[
            "narrative"
        ]

    assert len(narrative(3_000_000)) == 9_000_000
    assert_linear_time(narrative, int, 3_000_000)


def test_tags_of_any_case_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, "<TOP>\n<NUM>1</NUM><TITLE>a</TITLE>\n</TOP>")[0].text == "a"


def test_entities_are_read_as_they_stand_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    (tmp_path / "t").write_text("<top><num>1<title>Procter &amp; Gamble<desc>R&D at A&B; x<narr>a &lt; b</top>")
    (topic,) = read_queries(tmp_path / "t", notes)
    assert topic.text == "Procter &amp; Gamble"
    assert notes["queries with entities such as &amp;, read as they stand"] == 1
    read_queries(tmp_path / "t", notes, field="description")
    assert notes["queries with entities such as &amp;, read as they stand"] == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<top>\n<num>1\n<title>a\n<title>b\n</top>", ":1: topic has two <title>"),
        ("<top><num>1<title>a</top>\n</top>", ":2: </top> without <top>"),
        ("<top><num>1<title>a</top>\nstray\n", ":2: text outside <top>"),
        ("<top></top>", ":1: topic without <num>"),
    ],
)
def test_a_broken_topic_is_refused(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert what in str(caught.value)


def test_a_field_may_be_asked_for_by_the_name_that_its_track_gives_it(tmp_path: Path) -> None:
    text = "<top><num>1\n<title> short\n<desc> long\n</top>"
    asked = {name: read(tmp_path, text, field=name)[0].text for name in ("query", "question", "desc")}
    assert asked == {"query": "short", "question": "long", "desc": "long"}


def test_any_field_can_be_the_query(tmp_path: Path) -> None:
    text = TWO_TOPICS[: TWO_TOPICS.index("</top>") + 6]
    assert read(tmp_path, text, field="narrative")[0].text == "None."
    with pytest.raises(InputError, match="no query has a field 'narative'; did you mean 'narrative'"):
        read(tmp_path, text, field="narative")
    with pytest.raises(InputError, match=r":13: query MB001 has no narrative; remove it, .*--allow-empty-query"):
        read(tmp_path, TWO_TOPICS, field="narrative")


# --- XML --------------------------------------------------------------------------------------


def test_covid_web_and_ntcir_topics_have_standard_names(tmp_path: Path) -> None:
    covid = "<t><topic number='1'><query>a\r\n b</query><question>c?</question><narrative>d</narrative></topic></t>"
    assert read(tmp_path, covid)[0] == Query("1", "a b", {"title": "a b", "description": "c?", "narrative": "d"})
    web = """<?xml version="1.0"?>
<!DOCTYPE w [ <!ELEMENT w (topic)*> <!ATTLIST topic number CDATA #REQUIRED type (a|b) "a"> ]>
<!-- made by hand -->
<w><topic number="5"><query>AT&amp;T</query><description>x <i>y</i> z</description>
<subtopic number="1">s</subtopic><subtopic number="2">t</subtopic></topic></w>"""
    fields = {"title": "AT&T", "description": "x y z", "subtopic-1": "s", "subtopic-2": "t"}
    assert read(tmp_path, web)[0] == Query("5", "AT&T", fields)
    ntcir = "<queries>\n<query><qid>0001</qid><content>ascii</content><description>d</description></query></queries>"
    assert read(tmp_path, ntcir)[0] == Query("0001", "ascii", {"title": "ascii", "description": "d"})


def test_the_first_of_two_fields_of_one_meaning_has_the_standard_name(tmp_path: Path) -> None:
    topic = "<topic number='1'><query>bees</query><content>more</content><question>why</question></topic>"
    (query,) = read(tmp_path, f"<t>{topic}</t>", "topics.xml")
    assert query == Query("1", "bees", {"title": "bees", "content": "more", "description": "why"})


def test_elements_of_an_xml_field_separate_words_unless_they_format_a_part_of_one(tmp_path: Path) -> None:
    field = "<p>first part</p><P>second part</P> x<br/>y <i>H<sub>2</sub>O</i><item>a</item><item>b</item>"
    (query,) = read(tmp_path, f"<t><topic number='1'><query>{field}</query></topic></t>", "topics.xml")
    assert query.text == "first part second part x y H2O a b"


def test_a_title_beside_a_query_keeps_both(tmp_path: Path) -> None:
    text = "<t><topic number='1'><title>a</title><query>b</query></topic></t>"
    assert read(tmp_path, text)[0] == Query("1", "a", {"title": "a", "query": "b"})


@pytest.mark.parametrize(
    "text",
    [
        "<top><num>1</num> <title>a</title> dogs\n</top>",
        "<top>dogs <num>1</num><title>a</title></top>",
        "<top><num>1</num><title>a</title> < to p ></top>",
        "<t><topic number='1'><query>a</query> dogs <description/></topic></t>",
    ],
)
def test_text_between_fields_is_left_out_and_counted(text: str, tmp_path: Path) -> None:
    notes = Notes()
    assert read(tmp_path, text, notes=notes) == [Query("1", "a", {"title": "a"})]
    assert notes.lines() == [f"texts between the fields of a topic, left out: 1 (first: {tmp_path / 'topics.txt'}:1)"]


def test_a_topic_may_be_nothing_but_its_title(tmp_path: Path) -> None:
    assert read(tmp_path, "<queries><query id='1'> a\nb </query></queries>")[0] == Query("1", "a b", {"title": "a b"})


TOPIC = "<t><topic number='1'><query>&x;</query></topic></t>"


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE t [<!ENTITY x "lol">]>',
        '<!DOCTYPE t [<!ENTITY a "lol"><!ENTITY x "&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE t [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]>',
        '<!DOCTYPE t SYSTEM "file:///etc/hostname">',
        "",
    ],
    ids=["internal", "laughs", "external", "parameter", "external-subset", "undefined"],
)
def test_entities_are_refused(doctype: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"topics.txt:[12]: (XML entities are refused|.*undefined entity)"):
        read(tmp_path, f"{doctype}\n{TOPIC}")


def test_nothing_is_fetched(tmp_path: Path) -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        doctype = f'<!DOCTYPE t SYSTEM "http://127.0.0.1:{server.server_port}/t.dtd">'
        assert read(tmp_path, doctype + TOPIC.replace("&x;", "dogs"))[0].text == "dogs"
        server.shutdown()
    assert asked == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "<t>\n<topic number='1'>\n<query>x</topic></t>",
            ":3: is not well-formed XML: mismatched tag; the topic of line 2",
        ),
        ("<t>\n<topic number='1'><query>a</query><query>b</query></topic></t>", ":2: topic has two 'query'"),
        ("<t></t>", "holds no query"),
        ("<t><topic number='1'><query>a < b</query></topic></t>", ":1: is not well-formed XML"),
        ("<t/>\n<t/>", ":2: is not well-formed XML: junk after document element"),
    ],
)
def test_broken_xml_is_refused(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, "topics.xml")
    assert what in str(caught.value)


def test_elements_nested_a_hundred_thousand_deep_do_no_harm(tmp_path: Path) -> None:
    depth = 100_000
    text = "<t><topic number='1'><query>" + "<b>" * depth + "a" + "</b>" * depth + "</query></topic></t>"
    assert read(tmp_path, text)[0].text == "a"


# --- lines ------------------------------------------------------------------------------------


def test_jsonl_keeps_other_texts_as_fields(tmp_path: Path) -> None:
    (query,) = read(tmp_path, '{"query_id": "1", "text": "a", "narrative": "b", "n": 3}\n')
    assert query == Query("1", "a", {"text": "a", "narrative": "b"})
    assert read(tmp_path, '{"query_id": "1", "text": "a", "narrative": "b"}\n', field="narrative")[0].text == "b"


def test_fields_that_are_left_out_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    read(tmp_path, '{"id": "1", "text": "a", "metadata": {}, "lang": null, "answers": ["b"]}\n', notes=notes)
    assert notes.lines() == []
    read(tmp_path, '{"id": 1, "text": "a"}\n{"id": 2, "text": "a", "year": 0, "tags": ["b"]}\n', notes=notes)
    (line,) = notes.lines()
    assert line.startswith("query fields left out: not strings: 2 (first: ")
    assert line.endswith("topics.txt:2, 'year')")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"_id": "1", "text": null}\n', ":1: 'text' is null"),
        ('{"_id": "1", "text": "a"}\n{"_id": "2", "text": "a", "lang": 5}\n', ":2: 'lang' is not a string (got 5)"),
        ('{"_id": "1", "text": "a", "lang": ["de"]}\n', ":1: 'lang' is not a string"),
        ('{"_id": "1", "text": ["a"]}\n', """:1: 'text' is not a string (got ["a"])"""),
        ('{"_id": "1", "contents": "a"}\n', "no query has a field 'text'"),
        ('[{"_id": "1", "text": "a"}]\n', ":1: looks like JSON, not JSONL"),
        ('{\n "_id": "1"}\n', ":1: is not JSON"),
    ],
)
def test_broken_jsonl_is_refused(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert what in str(caught.value)


@pytest.mark.parametrize("header", ["query_id\tquery_text\n", "\n \nquery_id\ttext\n", "topic_id\tquery\n"])
def test_a_tsv_header_is_skipped_and_counted(tmp_path: Path, header: str) -> None:
    notes = Notes()
    assert [query.query_id for query in read(tmp_path, f"{header}1\ta\n", notes=notes)] == ["1"]
    assert notes["header lines skipped"] == 1


def test_tsv_text_is_literal(tmp_path: Path) -> None:
    text = '1\t"a" b\u2028c\u00a0d\x85e\n'
    assert read(tmp_path, text)[0].text == '"a" b\u2028c\u00a0d\x85e'


def test_car_headings_are_the_query(tmp_path: Path) -> None:
    notes = Notes()
    first, second = read(tmp_path, "enwiki:Air%20ioniser/Ions%2Fozone\nA/%FF\n", notes=notes, format="car")
    assert first == Query("enwiki:Air%20ioniser/Ions%2Fozone", "Air ioniser Ions/ozone", first.fields)
    assert second.text == "A \ufffd"
    assert notes["ids whose %-escapes are not UTF-8"] == 1


def test_a_row_that_is_not_cedrs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":2: is not a query of CEDR's format"):
        read(tmp_path, "query\t1\ta\ndoc\t2\tb\n", format="cedr")


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_bytes(b"1\tcaf\xe9\n")
    assert read_queries(tmp_path / "q.tsv", Notes(), options=TextOptions("latin-1"))[0].text == "café"


def test_topics_of_one_id_on_a_line_are_refused_with_the_line(tmp_path: Path) -> None:
    topic = '<topic number="1"><query>fox</query></topic>'
    (tmp_path / "topics.xml").write_text(f"<topics>\n{topic}{topic}\n</topics>\n")
    with pytest.raises(InputError, match=r"topics.xml:2: query id occurs twice, first on line 2"):
        read_queries(tmp_path / "topics.xml", Notes())
