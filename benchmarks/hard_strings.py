"""Strings on which tokenizers disagree, by kind of difficulty."""

JOINER, EMOJI_STYLE, TEXT_STYLE, KEYCAP = "\u200d", "\ufe0f", "\ufe0e", "\u20e3"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"

HARD: dict[str, list[str]] = {
    "nothing": ["", " ", "\n\t\r\n", ".,;:!?-()[]{}<>|/\\^~`@$%&+=", "\u200b \ufeff \u2060", "\x00\x01\x1f\x7f"],
    "apostrophes": [
        "don't don’t don‘t don＇t donʼt don`t don´t don′t don\u2032t",
        "rock 'n' roll rock'n'roll 'tis o'clock O'Brien's l'avion d’Artagnan ''double'' 'quoted'",
        "the dogs' dogs’ boss's boss’s boss＇s BOSS'S Boss’S bossʼs boss`s 's s's it's its 's' x's' s'",
        "that's there’s it's he's let's what's who's this's a's the's no's",
        "1990's 90s '90s 5's 5'11 10' 3″ CO₂'s É's 日's дом's 😀's",
        "dog's\u0301 dog'\u0301s do\u00adg's dog's_ _'s a_'s",
    ],
    "stop words": ["A An AND the The THE tHe to be or not to be", "IT İT ıt ｔｈｅ the\u0301 th\u00ade the_ the-the"],
    "underscores": [
        "_ __ ___ a_b _a a_ __init__ snake_case_name 1_000 _1_ a__b _._ _'_ a_'b",
        "‿ ⁀ ﹏ ＿ a‿b ‿a a⁀ 1＿2 _\u0301 _\u0301a a_\u0301b \u202f a\u202fb 10\u202f000",
    ],
    "numbers": [
        "3.14 3,14 1,234,567.89 1.234.567,89 1'000 1’000 1_000 1 000 1\u00a0000 1\u2009000 12:30 12:30:45 1/2 ½ 1½",
        "-5 +5 $5.00 €5,00 5% 5° 5°C 10km 10-20 10–20 1e10 1.5e-3 0x1F 1st 2nd 3rd .5 5. 5.. 5.a a.5 1,a 1;2 a;b 1:2",
        "IPv4 192.168.0.1 2001:db8::1 v1.2.3-rc.4 ISBN 978-3-16-148410-0 (555) 123-4567 2024-01-31 31/01/2024",
        "１２３ １.５ ２０２４年 ٣٫١٤ ١٢٣ १२३ ৪৫ 𝟏𝟐𝟑 ²³ x² H₂O №5 Ⅳ ⅷ ① ㉑ 1٬000 1\ufe102 1\uff0c000",
    ],
    "technical": [
        "C++ C# F# .NET ASP.NET Node.js a.b a.b.c. U.S.A. e.g. i.e. Ph.D. AT&T R&D Q&A TCP/IP I/O and/or km/h",
        "x=y+z; foo(bar, baz)[0]->qux::quux a*b a^b a~b <tag attr='value'>&amp;&#39;</tag> {{x}} %s \\n",
        "https://www.example.org/a_b/c-d.html?q=x&y=1#frag ftp://user:pw@host:21 www.example.co.uk",
        "first.last+tag@mail.example.com @user #hash_tag #1 ~/path/to/file.tar.gz C:\\Windows\\System32 :-) :) <3",
        "p<0.05 n=12 CD4+ CD8+ IL-2 α-helix β2 IFN-γ Na+/K+ 5'-UTR 3′-end 10⁻³ µm μm Å TNFα T-cell's",
    ],
    "hyphens and dashes": [
        "state-of-the-art co-operate e-mail re-\nuse semi\u00adcolon a\u00ad \u00ada a\u00ad\u00adb",
        "non\u2011breaking en–dash em—dash a−b a‐b a‒b a―b a⸺b a－b a﹣b a~b a〜b",
    ],
    "Porter": [
        "possibly technology dying skies news eed ion yes xyying generalizations oscillators relational conditional",
        "abilities absolutely accidentally agreed allowances analogously apologies archaeology bled bly controlling",
        "ies sses ed ing s ss es ying yed aed eing is us as ax by ally alli bli abli logi ologi fulness ative ement",
        "hopping hoping tanned filing failing fizzed falling hissing sized troubled conflated feed motoring sky happy",
        "naïveté naïvely Müllers résumés fiancées cafés façades 3rds covid19s b12s a1ed 1ing _ing a_ing",
        "y's yy yyy yyyy syzygy enjoyed toyed buying yearly",
        "running-Walking KNEWINGLY İng ſing ﬁnding oﬀered 𝐚s 𝐚ed b𝐚𝐚ed ba𝐚ing 𝒳s",
    ],
    "lower case": [
        "İstanbul ISTANBUL ıstanbul Iı Straße STRASSE ẞ ΟΔΥΣΣΕΥΣ Σ σς ΑΣ. ΑΣ' ΆΣ ǅ ǈ ǋ ǲ ﬁ ﬂ ﬃ Ŀ ŉ ǰ ΐ ᾳ ᾼ ᏣᎳᎩ ꭰ",
        "ÀÉÎÕÜ àéîõü A\u0300E\u0301 Å Å K K Ω Ω ÇA ŁÓDŹ МОСКВА ЁЖ ЇЖАК ԱԲԳ ႠႡ ⒶⒷ Ⓜ Ａｂ 𝐀𝑩 𐐀𐐨 🄰 🅰",
    ],
    "attached characters": [
        "cafe\u0301 e\u0301 \u0301 \u0301e a\u0301\u0302\u0303b 1\u03012 .\u0301 a.\u0301b a\u0301.b",
        "a\u200cb a\u200db a\u200bb a\u2060b a\ufeffb a\u00adb a\u200e\u200fb a\u202ab\u202c a\u2066b\u2069 a\u034fb",
        "\u200da \u200d \u200d\u200d a\u200d \ufe0f a\ufe0f \u20e3 a\u20e3 \U000e0067 a\U000e0067",
        "\ufffc a\ufffcb \ufffd",
        "a\u0085b a\u2028b a\u2029b a\u000bb a\u000cb a\u001cb a\u3000b a\u1680b a\u180eb a\u00a0b",
        "a\u00b8b fran\u00b8cais a\u02c8b a\u02bcb a\u02d8b a\u02e5b",
        "\ua708a a\u0600b \u06001 1\u06dd2 a\u055fb \u055a",
    ],
    "Chinese, Japanese, Korean": [
        "日本語 東京タワーへ行く。 ひらがな カタカナ ｶﾀｶﾅ ﾊﾟﾋﾟ カタ_カナ カナab abカナ カナ1 ー スーパー",
        "々 〆 〇 ゝ ヽ ・ カ・ナ",
        "中文分词。中文English混排 2024年1月 ３月 繁體 〡〢〣 𠀀𠀁 𪚥 \ufa0e \uf900 一\u0301 ㈱ ㊗ ㍿ ㌔ 〒 〰 〽",
        "한국어 단어 한국어와English 한글123 ㄱㄴㄷ \u1112\u1161\u11ab \uffa1 ᄒᆞᆫ글 조선말's",
    ],
    "scripts of South-East Asia and India": [
        "ภาษาไทย ภาษาไทยEnglish กำลัง1 ๑๒๓ ไทย's ลาว ພາສາລາວ ភាសាខ្មែរ မြန်မာဘာသာ ᦅᦱᧉ ᧚ ᧑᧚ ᨠᩣ ꩠ ꪀ",
        "हिन्दी क्\u200dष क्\u200cष বাংলা தமிழ் తెలుగు ಕನ್ನಡ മലയാളം ગુજરાતી ਪੰਜਾਬੀ ଓଡ଼ିଆ සිංහල བོད་སྐད་ ꯃꯤꯇꯩ",
    ],
    "Hebrew, Arabic and others": [
        "צה\"ל צה״ל ג'ירפה ג׳ירפה א' א'ב\"ג א\"ב\"ג א'א\" ר׳ שָׁלוֹם אב_ג א1\"ב אa'b\"c ב־ג",
        "العربية ٱلْعَرَبِيَّة ﷺ ﻻ لا ـــ كتاب، كتاب؛ فارسی می\u200cخواهم اردو ۱۲۳ ܐܪܡܝܐ \u070f ދިވެހި",
        "Ελλάδα του’ Москва 6-й հայերեն և՞ այո՛ ქართული ⴀⴁ አማርኛ፡ ᎣᏏᏲ ᐃᓄᒃᑎᑐᑦ ᚠᚢᚦ ⵣ ߒߞߏ 𐌰𐌱 𒀀 𓀀 𝔸 ℵ",
        "l·l col·lega ·a a· a··b ‧ a‧b a：b a︓b a:b 1:b a﹕b ｡ a．b 1．2 a﹒b a․b a。b",
    ],
    "emoji": [
        "😀 😀😀 a😀b 1😀2 😀\ufe0f ☺ ☺\ufe0f ☺\ufe0e ❤\ufe0f ★ ☆ ☎ ♥ ♡ ✓ ✔ ✗ → ↔ ⌘ ⏰ ℹ ℹ\ufe0f",
        "™ ®\ufe0f © ‼ ⁉ 🀄 🃏 🂡 ⚐ ⎈",
        "👍🏽 👍 🏽 🏽🏽 a🏽b 🚀🏽 ☝\ufe0f🏽 👍🏽👍🏿 🤌🏽",
        f"👩{JOINER}👩{JOINER}👧 🏳{EMOJI_STYLE}{JOINER}🌈 👩🏽{JOINER}💻 👩{JOINER} {JOINER}👩",
        f"👩{JOINER}{JOINER}👧 a{JOINER}👩",
        f"👩{TEXT_STYLE}{JOINER}👧 👩{EMOJI_STYLE}{EMOJI_STYLE} 👩\u0301{JOINER}a",
        f"ℹ{JOINER}👍 Ⓜ{JOINER}Ⓜa 🅰🅱 🅿{EMOJI_STYLE}arking",
        f"1{EMOJI_STYLE}{KEYCAP} 12{KEYCAP}3 #{KEYCAP} *{EMOJI_STYLE}{KEYCAP} # * #{EMOJI_STYLE} a#{KEYCAP}b",
        f"#\u0301{KEYCAP}",
        f"🇩🇪 🇩🇪🇫🇷 🇩 🇩🇪🇫 a🇩🇪b 🇩\u0301🇪 🏴 {SCOTLAND} 🏴{EMOJI_STYLE}{SCOTLAND[1:]} 🥯 🦤 🫠 🪿",
    ],
    "long words": [
        "x" * 255, "x" * 256 + " y", "é" * 300, "x" * 254 + ".y", "x" * 255 + ".y", "1" * 254 + ",000",
        "x" * 250 + "'s", "x" * 253 + "'s", "x" * 254 + "'s", "x" * 255 + "'s",
        "_" * 300, "_" * 300 + "a", "a" + "_" * 300 + "b",
        "カ" * 256, "ก" * 256, "𝐚" * 128, "x" * 254 + "𝐚𝐚", "😀\u0301" + "\u0301" * 260,
        f"👩{JOINER}" * 100, "x.y-" * 100,
    ],
}  # fmt: skip
