"""Hard cases for sentence splitters: short texts of our own, in which ``|`` stands where a sentence begins.

A splitter is right about a case if it finds these sentences and no others, white space at their ends aside.
"""

from __future__ import annotations

Case = tuple[str, str]
"""Language (ISO 639) and marked text."""

CASES: dict[str, list[Case]] = {
    "abbreviations": [
        ("en", "Dr. Brown met Mr. and Mrs. Hill at 5 p.m. on Friday. |They left early."),
        ("en", "The firm moved to Acme Corp. in Ohio. |Its staff (approx. 40) stayed."),
        ("en", "Use any editor, e.g. Vim or Emacs. |Others, i.e. most people, use a mouse."),
        ("en", "She lives in the U.S. and works for the U.N. in Geneva. |He does not."),
        ("en", "He was born in Washington, D.C. |The family moved in Sept. 1950."),
        ("en", "The road is 40 mi. long and 5 ft. wide. |No. 7 is the last house."),
        ("en", "Prof. Lang vs. Prof. Short was the case. |Both lost."),
    ],
    "initials": [
        ("en", "J. R. R. Tolkien wrote it. |C. S. Lewis read it."),
        ("en", "It was named after John F. Kennedy. |W. E. B. Du Bois spoke first."),
        ("en", "The vitamin is called K. |It was found late."),
        ("en", "George W. Bush and L. B. Johnson were from Texas. |So was he."),
    ],
    "citations": [
        ("en", "This was shown by Green et al. (2003). |Later work disagrees (Hill et al., 2010; cf. Ray, 2012)."),
        ("en", "The curve is in Fig. 3. |Eq. (2) and Sec. 4.1 explain it (see Tab. 2)."),
        ("en", "Growth is slow.[3] |Decay is fast.[4][5] |Neither was expected."),
        ("en", "See pp. 12-15 of vol. 3, no. 4. |The rest is in ch. 9."),
        ("en", "The risk rose (p < 0.05). |It fell in group B (n = 12; 95% CI, 1.2-1.9). |Nothing else changed."),
        ("en", "Levels were low (p<0.001). |Those of men (>50 years) were lower. |Women had more (p > 0.2)."),
        ("en", "In Smith v. Jones, 12 F.3d 345 (9th Cir. 1993), the court agreed. |It cited 8 U.S.C. § 1101."),
    ],
    "decimals": [
        ("en", "The value is 3.14 or .5 at most. |It was 2.71828 before."),
        ("en", "Version 2.0.1 costs $1.50. |Version 3 is free."),
        ("en", "The share rose by 1.2%. |In 1999 it was 4.5 million."),
        ("en", "We need 3. |You have 2."),
        ("en", "It weighs 1.5 kg. |The box weighs 300 g. |Both fit."),
    ],
    "addresses": [
        ("en", "Visit https://www.example.org/a.b?c=d.e for more. |It is open."),
        ("en", "Write to john.doe@example.co.uk today. |Or call example.com now."),
        ("en", "Python's os.path.join is old. |The module pathlib.Path is new."),
        ("en", "The file README.md names setup.py and e.g. main.c. |Read it."),
    ],
    "quotations": [
        ("en", 'He said: "I am late." |Then he ran.'),
        ("en", '"Come in. |Sit down. |I have news," she said. |He sat.'),
        ("en", "“It rains. |It pours. |The old man snores.” |So they sang."),
        ("en", '"Why not?" he asked. |"Because!" she cried. |They laughed.'),
        ("en", "'Tis the dogs' house. |It isn't ours. |The cats' is next door."),
        ("en", "The so-called ‘fast’ way was slow. |‘Never again,’ they said."),
        ("en", 'The unclosed "quote goes on. |It ends nowhere. |And the text goes on. |Another "one" is fine.'),
        ("en", 'A screen of 19" is small. |A screen of 24" is large. |Take it.'),
        ("en", '"First. |Second." |"Third. |Fourth."'),
        ("en", "The word ``latex'' is quoted so. |``And this. |Is speech,'' he said."),
    ],
    "brackets": [
        ("en", "The dog barked. |(It always did. |Nobody cared. |Why should they?) |Then it slept."),
        ("en", "He came (as we know [see above]) and left (again). |She did not."),
        ("en", "The set {a, b} (a < b) is small. |The list [a. b] is not."),
        ("en", "It is open (unlike the other. |A bracket was forgotten here. |The text goes on. |It ends."),
        ("en", "1) Open the box. |2) Close it. |That was all."),
        ("en", "This works (mostly). |(But not always.) |So be careful."),
        ("en", "If x < 3, stop. |If y > 4, go on. |If both, (wait). |Done."),
    ],
    "ellipses": [
        ("en", "Well... maybe not. |Who knows? |Not I..."),
        ("en", "He waited… |Then he left."),
        ("en", "Stop!!! |What?! |No way."),
        ("en", "The list goes on, and on, . . . and on. |Then it ends."),
        ("en", "Yahoo! is a firm. |It was sold."),
    ],
    "lines": [
        ("en", "Introduction\n\n|The first paragraph has no title. |It has two sentences.\n\n|Methods\n\n|None."),
        (
            "en",
            "Rivers of Asia\n|The Yangtze is the longest river of Asia. |It flows east.\n|In Europe\n|The Volga.",
        ),
        ("en", "- one apple\n|- two pears\n|- three plums"),
        ("en", "The list has items:\n|1. Open the box.\n|2. Take the ring.\n|3. Close the box."),
        (
            "en",
            "The history of the river is long and it begins in the mountains of the\n"
            "north, where Dr. Hill found its source. |It flows through seven lands, and\n"
            "Lake Victoria is the largest of its lakes. |Many people live there, and the\n"
            "Nile feeds them.\n\n|The second paragraph is as long as the first was, and it is wrapped in the\n"
            "same way, at about seventy characters of a line. |Here it ends.",
        ),
        (
            "en",
            "Queue.put(item, block=True)\n|Put an item into the queue. |If the optional argument block is true and\n"
            "timeout is None, block if necessary until a free slot is available.",
        ),
        ("en", "Anna: Good morning\n|Ben: Morning, Anna. |How are you?\n|Anna: Fine"),
        ("en", "One line.\r\n|Another line\r\n\r\n|A third line."),
        ("en", "Ode\u2028|A rose is red\u2028|A violet is blue"),
        ("en", "It was said (in the year\n\n|Chapter 2\n\n|The end came soon. |It was late."),
    ],
    "upper case": [
        ("en", "THE U.S . OFFERED IT LAST WEEK . |BRITAIN TOOK IT AT ONCE ."),
        ("en", "MR . AND MRS . JOHN F . KENNEDY CAME . |NO . 2 WAS LATE ."),
        ("en", '" WHY NOT ? " A VISITOR ASKED . |" WHO KNOWS ? " |HE LEFT .'),
        ("en", "IT IS LATE. |WE MUST GO. |DR. WARD WAITS."),
    ],
    "speech": [
        ("en", "So um {vocalsound} yeah . |I mean we 're done . |Right ?"),
        ("en", "okay so what do we do now"),
    ],
    "other languages": [
        ("fr", "« Viens. |Assieds-toi. |J'ai des nouvelles », dit-elle. |M. Dupont s'assit."),
        ("fr", "Il coûte 3,50 euros, p. ex. au marché. |C'est peu."),
        ("de", "Das ist z. B. am 3. Mai so. |Dr. Huber kam um 5 Uhr. |Er blieb."),
        ("de", "Er rief: „Komm her! |Es regnet.“ |Niemand kam."),
        ("es", "¿Qué hora es? |¡Es tarde! |El Sr. López no vino."),
        ("ja", "今日は雨です。|明日は晴れます。|行きましょう。"),
        ("zh", "他说:“你好。|请坐。” |我们走吧!"),
        ("hi", "यह एक वाक्य है। |यह दूसरा है।"),
        ("ru", "Он родился в 1950 г. в Москве. |«Это так», — сказал А. С. Пушкин. |Все молчали."),
    ],
}


def unmarked(marked: str) -> tuple[str, list[str]]:
    """Return the text of a case, and its sentences."""
    return marked.replace("|", ""), [sentence.strip() for sentence in marked.split("|")]
