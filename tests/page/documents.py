"""Documents with unusual passages, ids and characters; the last has a megabyte."""

from longrank.types import Document

FILLER = "moon tide chain wheel light house bread stone river salt"
STORY = (
    "漢字の物語 👩‍👩‍👧 𝒳 😀 before the fox.\n\n"
    + f"{FILLER} " * 9
    + "\n\tA quick 😀 fox and the hound: foxes run.\n"
    + f"{FILLER} " * 9
)
DOCUMENTS = [
    Document("story", "A story 😀 of foxes", STORY),
    Document("short", "", "One fox."),
    Document(
        "two", "Foxes at the end", f"{FILLER} " * 60 + "the fox met a fox and a fox and a fox " + f"{FILLER} " * 5
    ),
    Document("hound", "The hound", f"{FILLER} " * 12 + "a hound, and a hound again; no other animal"),
    Document("hounds", "More hounds than foxes", f"hound hound hound fox {FILLER} " * 4),
    Document("moon", "Nothing but the moon", f"{FILLER} " * 30),
    Document(
        "long",
        "A megabyte",
        "".join(f"Line {n} of many that all go on 😀 and on, and on\n" for n in range(21_000)) + "the last zeppelin\n",
    ),
]
