from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from longrank.collections.documents import locate_documents
from longrank.errors import InputError
from longrank.formats.lines import TextOptions
from longrank.formats.opening import Limits
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes

# Invented documents in the shapes of the collections they are named after.

FT = """<DOC>
<DOCNO>FT911-1</DOCNO>
<PROFILE>_AN-BENBQAD8FT</PROFILE>
<DATE>910514
</DATE>
<HEADLINE>
FT  14 MAY 91 / Dairy plans new depots
</HEADLINE>
<BYLINE>
   By A WRITER
</BYLINE>
<TEXT>
THE DAIRY said it
would build.

No date.
</TEXT>
<PUB>The Paper
</PUB>
</DOC>
"""
FBIS = """<DOC>
<DOCNO> FBIS3-1 </DOCNO>
<HT>  "cr0"  </HT>
<HEADER>
<H2>   March Reports </H2>
<DATE1>  1 March 1994 </DATE1>
Document Type:NOTE
<H3> <TI>      REPUBLIC: OPINION
   POLLS </TI></H3>
</HEADER>
<TEXT>
Summary: <F P=102> SKOPJE </F> Polls were held.
</TEXT>
</DOC>
"""
FR = """<DOC>
<DOCNO> FR940104-0-00001 </DOCNO>
<PARENT> FR940104-0-00001 </PARENT>
<TEXT>

<!-- PJG FTAG 4700 -->
<USDEPT>DEPARTMENT</USDEPT>
<DOCTITLE>Rules</DOCTITLE>
H<INF>2</INF>O is a low&hyph;cost&blank;fluid, &sect;&thinsp;3, R&D.
</TEXT>
</DOC>
"""
LATIMES = """<DOC>
<DOCNO> LA010189-0001 </DOCNO>
<DATE>
<P>
January 1, 1989, Sunday
</P>
</DATE>
<HEADLINE>
<P>
GRAND MARSHAL; A PARADE
</P>
</HEADLINE>
<TEXT>
<P>
One horse.
</P>
<P>
Two
horses.
</P>
<TABLE><TABLEROW><TABLECELL CH="1">a</TABLECELL><TABLECELL>b</TABLECELL></TABLEROW></TABLE>
</TEXT>
<GRAPHIC><P>Photo, not text</P></GRAPHIC>
</DOC>
"""
WSJ = """<DOC>
<DOCNO> WSJ900101-0001 </DOCNO>
<HL> Makers Merge </HL>
<LP> Two makers merged. </LP>
<TEXT> They make bread. </TEXT>
</DOC>
"""
AQUAINT = """<DOC>
<DOCNO> APW19980601.0003 </DOCNO>
<HEADER> w2192 &Cx1f; </HEADER>
<BODY>
<SLUG> BC-Obit </SLUG>
<HEADLINE> A Singer </HEADLINE>
<TEXT>
<P>
	She sang.
</P>
</TEXT>
(PROFILE no text)
</BODY>
</DOC>
"""
VASWANI = "<DOC>\n<DOCNO>1</DOCNO>\ncompact memories have\nflexible capacities\n</DOC>\n"


def read(
    folder: Path, content: str, *fields: str, notes: Notes | None = None, format: str = "trectext"
) -> list[Document]:
    path = folder / "fb396001"
    path.write_text(content, encoding="utf-8")
    options = CorpusOptions(format, fields or ("title", "text"))
    return [one.document for one in locate_documents([str(path)], Notes() if notes is None else notes, options)]


@pytest.mark.parametrize(
    ("content", "document"),
    [
        (FT, Document("FT911-1", "FT 14 MAY 91 / Dairy plans new depots", "THE DAIRY said it would build.\nNo date.")),
        (FBIS, Document("FBIS3-1", "REPUBLIC: OPINION POLLS", "Summary: SKOPJE Polls were held.")),
        (FR, Document("FR940104-0-00001", "", "DEPARTMENT Rules H2O is a low-cost fluid, § 3, R&D.")),
        (LATIMES, Document("LA010189-0001", "GRAND MARSHAL; A PARADE", "One horse.\nTwo horses.\na b")),
        (WSJ, Document("WSJ900101-0001", "Makers Merge", "Two makers merged.\nThey make bread.")),
        (AQUAINT, Document("APW19980601.0003", "A Singer", "She sang.")),
        (VASWANI, Document("1", "", "compact memories have flexible capacities")),
    ],
    ids=["FT", "FBIS", "FR94", "LATIMES", "WSJ", "AQUAINT", "Vaswani"],
)  # fmt: skip
def test_newswire_shapes(content: str, document: Document, tmp_path: Path) -> None:
    assert read(tmp_path, content) == [document]


def test_any_tag_is_a_field_by_its_name(tmp_path: Path) -> None:
    found = read(tmp_path, FT + LATIMES, "title", "text", "date")
    assert found[0].text.endswith("No date.\n910514")
    assert found[1].text.endswith("a b\nJanuary 1, 1989, Sunday")
    with pytest.raises(InputError, match="no document has this field"):
        read(tmp_path, FT, "text", "dateline")


def test_a_text_that_only_its_own_end_closes_keeps_what_it_holds(tmp_path: Path) -> None:
    content = "<DOC><DOCNO>1</DOCNO><HEADLINE>open<TEXT>a <TITLE>b</TITLE> </LP> c</TEXT><LP>d</DOC>"
    assert read(tmp_path, content) == [Document("1", "open", "a\nb\nc\nd")]


def test_documents_without_a_text_section(tmp_path: Path) -> None:
    notes, empty = Notes(), "<DOC><DOCNO>3</DOCNO><TEXT></TEXT></DOC>"
    assert (
        read(tmp_path, VASWANI + "<DOC><DOCNO>2</DOCNO><TITLE>t</TITLE>kept</DOC>" + empty, notes=notes)[1].text
        == "t\nkept"
    )
    assert notes["documents without <TEXT> read whole"] == 2
    assert notes["documents with an empty text"] == 1


def test_several_documents_may_share_a_line(tmp_path: Path) -> None:
    content = "<DOC><DOCNO>1</DOCNO><TEXT>a</TEXT></DOC> <DOC><DOCNO>2</DOCNO><TEXT>b</TEXT></DOC>"
    content += "<doc><docno>3</docno>c</doc>"
    assert [d.text for d in read(tmp_path, content)] == ["a", "b", "c"]


def test_running_text_may_speak_of_doc_tags(tmp_path: Path) -> None:
    content = "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\nthe tag <DOC> opens, <DOC>\n<DOCX> too\n</TEXT>\n</DOC>\n"
    assert read(tmp_path, content)[0].text == "the tag opens, too"


def test_lines_between_documents_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    read(tmp_path, '<?xml version="1.0"?>\n<DOCS>\n\n' + FT + "</DOCS>\n", notes=notes)
    assert notes["lines outside <DOC> ... </DOC> left out"] == 3


def test_lines_are_right_across_blocks_of_a_long_file(tmp_path: Path) -> None:
    path = tmp_path / "long.trec"
    one = "<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>\n" + "some words of a line\n" * 60 + "</TEXT>\n</DOC>\n"
    path.write_text("".join(one.format(i) for i in range(2500)) + "</DOC>\n")
    stream = locate_documents([str(path)], Notes(), CorpusOptions("trectext"))
    lines = [(one.document.doc_id, one.line) for one in islice(stream, 2500)]
    assert path.stat().st_size > 3 << 20
    assert lines == [(str(i), 65 * i + 1) for i in range(2500)]
    with pytest.raises(InputError, match=f":{65 * 2500 + 1}: </DOC> without a <DOC>"):
        next(stream)


def test_a_document_that_never_ends_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.trec"
    path.write_text("<DOC>\n" + "words\n" * 1000)
    options = CorpusOptions("trectext", text=TextOptions(limits=Limits(max_line=5000)))
    with pytest.raises(InputError, match=":1: <DOC> is longer than 5000 characters"):
        list(locate_documents([str(path)], Notes(), options))


def test_a_file_without_doc_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no <DOC>"):
        read(tmp_path, "just words\n")


def test_named_tags_are_metadata_and_a_name_that_no_document_has_is_counted(tmp_path: Path) -> None:
    (tmp_path / "ft").write_text(FT)
    notes, options = Notes(), CorpusOptions(metadata=("date", "yaer"))
    [found] = locate_documents([str(tmp_path / "ft")], notes, options)
    assert found.document.metadata == {"date": "910514"}
    assert "names of metadata that no document has: 1 (first: yaer)" in notes.lines()


# --- trecweb --------------------------------------------------------------------------------------

WEB = """<DOC>
<DOCNO>GX000-00-0000000</DOCNO>
<DOCHDR>
http://www.example.org
HTTP/1.1 200 OK
</DOCHDR>
<html><head><title>Dogs &amp; cats</title><script>var x = "<p>";</script></head>
<body><ul><li><a href="/">Home</a></ul><p>They <b>bark</b>.<docno>no id</docno></body></html>
</DOC>
"""


def test_a_web_page_is_read_whole_with_its_title(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    [document] = read(tmp_path, WEB, format="trecweb")
    assert (document.doc_id, document.title) == ("GX000-00-0000000", "Dogs & cats")
    assert document.text.split() == ["Home", "They", "bark.no", "id"]


def test_web_files_are_told_from_newswire_by_their_header(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    (tmp_path / "00").write_text(WEB)
    (tmp_path / "01").write_text(WSJ)
    found = [one.document.doc_id for one in locate_documents([str(tmp_path)], Notes())]
    assert found == ["GX000-00-0000000", "WSJ900101-0001"]


def test_a_page_without_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fb396001:1: no </DOCHDR> in this <DOC>; is it trectext"):
        read(tmp_path, WSJ, format="trecweb")
