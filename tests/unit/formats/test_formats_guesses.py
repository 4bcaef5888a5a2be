"""Guesses of encodings that no file states."""

from __future__ import annotations

import pytest

from growth import assert_linear_time
from longrank.formats.guesses import encoding_of

TEXTS = {
    "cp1252": (
        "déjà vu garçon",
        "Näytä kaikki käyttäjät ja muuta salasanoja.",
        "Não foi possível abrir a sessão de usuário.",
        "¿Qué opción desea usar mañana?",
        "Perché la città è così lontana?",
        "De geïnstalleerde software is niet één keer geüpdatet.",
        "Når kan vi spise?",
        "Svæði á Íslandi eru þekkt fyrir veðrið.",
        "He said “no” – it’s £5.",
        "“a” «b»",
        "Straße",
        "Não são",
        "A mãe e o irmão",
        "Cioè, non c'è. Le père et la mère.",
    ),
    "cp1250": (
        "Setarea dacă este vorba despre o imprimantă",
        "Izhodne datoteke v javanskem načinu",
        "Nelze otevřít příliš dlouhý soubor.",
        "Nie można otworzyć źródła, więc żółw śpi.",
        "A könyvtár nem íródott, őszi időjárás.",
    ),
    "iso8859-2": ("Žádný řidič není nalezen, zkuste to později, prosím. Šťastnou cestu!",),
    "cp1254": ("Dosya açılamadı, lütfen başka bir ağ için değişiklik yapın.",),
    "cp1257": (
        "Nevar atvērt šo failu, mēģiniet vēlreiz pēc brīža.",
        "Šį failą sukūrė kitas naudotojas, jūsų įrašas užrakintas.",
    ),
    "cp850": ("Le fichier a été créé à Genève, où l'élève est resté après la fête.",),
    "cp852": ("Zażółć gęślą jaźń. W przyszłości będziemy mieć więcej", "Nelze otevřít příliš dlouhý soubor."),
    "cp857": ("Dosya açılamadı, lütfen başka bir ağ için değişiklik yapın.",),
    "cp855": ("Не удалось открыть файл: нет доступа к каталогу.",),
    "cp737": ("Δεν είναι δυνατό το άνοιγμα του αρχείου.",),
    "cp1251": ("Не удалось открыть файл: нет доступа к каталогу.",),
    "koi8-r": ("Не удалось открыть файл: нет доступа к каталогу.",),
    "cp1253": ("Δεν είναι δυνατό το άνοιγμα του αρχείου.",),
    "gb18030": ("无法打开文件,因为您没有访问该目录的权限。", "会议记录和预算\n" * 3),
    "big5hkscs": ("無法開啟檔案,因為您沒有存取該目錄的權限。",),
    "cp932": (
        "ファイルを開くことができませんでした。権限がありません。",
        "Debian メンテナー用ガイド",
        "価格：１００円",
    ),
    "euc_jp": ("ファイルを開くことができませんでした。権限がありません。",),
    "cp949": ("파일을 열 수 없습니다. 디렉터리에 접근할 권한이 없습니다.",),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _files_extra() -> None:
    pytest.importorskip("charset_normalizer", reason="needs the extra files")


@pytest.mark.parametrize("encoding", TEXTS)
def test_short_texts_are_read_in_their_encoding(encoding: str) -> None:
    for text in TEXTS[encoding]:
        raw = text.encode(encoding)
        assert raw.decode(encoding_of(raw, 0.2)) == text


@pytest.mark.parametrize("byte", [b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"])
def test_a_byte_that_the_encoding_lacks_decides_nothing_about_the_other_letters(byte: bytes) -> None:
    raw = "He said “yes” — it’s a naïve résumé, the café’s price is €5. ".encode("cp1252") * 5
    assert encoding_of(raw + byte + raw, 0.2) == "cp1252"


def test_bytes_of_no_text_have_no_encoding() -> None:
    assert encoding_of(bytes(range(0x80, 0x100)) * 20, 0.2) == ""


def test_a_guess_takes_linear_time() -> None:
    assert_linear_time(lambda raw: encoding_of(raw, 0.2), lambda n: ("é" * n).encode("cp1252"), 60_000)
