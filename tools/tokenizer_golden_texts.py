"""The texts that tokenizers are compared on: the same bytes on every machine (no clock, no network, one seed)."""

import random
import unicodedata

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and nobody asked it why.",
    "I'll say it's fine; they've said we're not, but you'd know I'm right, didn't you? DON'T shout: IT'S rude.",
    "Attention is a weighted average: 0.25 of this, 0.75 of that, and 1,234,567.89 of nothing.",
    "Straße, Fußgängerübergänge und Ärger – „Größe“ zählt nicht, sagte Jürgen am 3. März 1998.",
    "L'été dernier, Noël à Besançon coûtait 12 € ; où ça ? « Là-bas », répondit l'élève.",
    "El niño pidió piñata y cigüeña; ¿qué más? ¡Olé! Año 2024, ½ kilo, 3er piso.",
    "İstanbul'da ışık ve IŞIK, şeker ĞÜİÖ; bugün hava çok güzel.",
    "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy. Đorđe, Łódź, Ærøskøbing, Þingvellir.",
    "Съешь ещё этих мягких французских булок, да выпей чаю. Їжак і ґава — українські.",
    "Ὁ βίος βραχύς, ἡ δὲ τέχνη μακρά. ΟΔΥΣΣΕΥΣ ὀδυσσεύς ΆΈΉΊΌΎΏ.",
    "שלום עולם, הנה מִלִּים עם נִקּוּד ו־1948.",
    "السَّلامُ عَلَيْكُمْ، كيف حالك؟ العدد ١٢٣٤ وَٱلْحَمْدُ.",
    "नमस्ते दुनिया, क्षत्रिय ज्ञान २०२४। कि की कु के।",
    "বাংলা ভাষা সুন্দর। তমিழ্ நாடு ஸ்ரீ தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල",
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ น้ำ เก้า ๑๒๓",
    "ພາສາລາວ မြန်မာစာ ភាសាខ្មែរ བོད་ཡིག ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ",
    "今天天气很好，我们去公园散步吧！「真的嗎？」她問。㐀㐁 𠀀𠀁",
    "吾輩は猫である。名前はまだ無い。カタカナ、ﾊﾝｶｸ、ｶﾞｷﾞ、ー、々、〆、㍿、①②③",
    "한국어 문장입니다. 각 자모: 각 가힣 ㄱㄴㄷ. 대한민국 2024년.",
    "ქართული ენა, Հայերեն լեզու, አማርኛ ቋንቋ, ᏣᎳᎩ, ᐃᓄᒃᑎᑐᑦ, ᚠᚢᚦᚨᚱᚲ, ⲁⲃⲅ, 𐍂𐌰𐌶𐌳𐌰, 𐐀𐐨",
    "Tiếng Việt có dấu: đường phố Hà Nội, ngày 30 tháng 4 năm 1975.",
]

SNIPPETS = [
    "def attention(q, k, v):\n    scores = q @ k.T / math.sqrt(q.shape[-1])\n\treturn softmax(scores) @ v  # no mask\n",
    "for (int i = 0; i < n; ++i) { sum += x[i]*y[i]; }  // O(n)",
    "#include <vector>\nstd::vector<int> v{1,2,3};\r\nreturn *v.begin() != 0x7fff ? a->b : c::d;",
    "SELECT * FROM t WHERE a >= 10 AND b LIKE '%x_y%' ORDER BY c DESC;",
    "<div class=\"head\" id='h1'>&nbsp;&amp;<br/></div>",
    "{\"key\": [1, -2.5e-3, null, true], \"ключ\": \"значение\\n\"}",
    "https://example.org/a/b?q=1&r=%20x#frag user@example.com C:\\dir\\file.txt ~/x/../y",
    "x² + y³ ≤ ∑ᵢ αᵢ·βᵢ ≈ ∫₀^∞ e^{-x²}dx = √π/2; ∀x∈ℝ: |x|≥0 ⇒ ¬(x<0)",
    "$E=mc^2$ `code` **bold** _it_ ~~no~~ [x](y) | a | b |\n|---|---|\n* item\n  1. sub",
    "snake_case camelCase PascalCase kebab-case SCREAMING_CASE iOS15 x86_64 v1.2.3-rc4+5",
    "''quoted'' ``ticks`` “curly” ‘single’ «guillemets» ‹x› …—–-‐‑",
    "aaaaaaaa bbbbbbbb !!!!!!!! ........ ======== -------- ________ ########",
    "12 345 6789 1234567890123456789 3.14159 1/2 50% $9.99 №5 ⅷ Ⅻ ½ ¾ ² ₃ ④ ٣ ३ 三",
]

EMOJI = ["👩‍👩‍👧‍👦", "👍🏽", "🏳️‍🌈", "🇩🇪🇫🇷🇯🇵", "❤️", "1️⃣", "👨‍💻", "😀😃", "☺", "🤷🏿‍♀️", "⌚", "✈️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]

MARKS = ["e\u0301", "o\u0308\u0304", "a\u0323\u0307", "q\u0307\u0323", "\u0301", "n\u0303\u0330\u0303", "\u1100\u1161\u11a8",
         "\u0041\u030a", "\u212b", "\u1e69", "s\u0323\u0307", "\ufb01", "\ufb03x", "\u0132", "\u01c4", "\u0344", "\u0958",
         "\u1e9b\u0323", "\u0130", "I\u0307", "\u03c2", "\u1fb7", "\u2126", "\u1f71", "\uff21\uff22", "\u3392", "\ufdfa",
         "\u0e33", "\u0eb3", "\u0f77", "\u09c7\u09be", "\u0bc6\u0bd7", "\u115f", "\uac00\u11a8", "\u0390", "\u1d15e"]

CONTROLS = ["\x00", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b[0m", "\x1f", "\x7f", "\x80", "\x85", "\x8f", "\x9f", "\xa0",
            "\xad", "\u034f", "\u061c", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028", "\u2029",
            "\u202e", "\u2060", "\ufeff", "\ufffc", "\ufffd", "\uffff", "\ufdd0", "\ue000", "\U0010fffd", "\U000e0001"]

SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n ", "\u1680", "\u2000", "\u2003", "\u2009", "\u202f", "\u205f",
          "\u3000", "\x85", "\xa0", "\u2028", "▁", " ▁", "·", "Ġ", "Ċ"]

BROKEN = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
          b"\xe2\x28\xa1", b"\xf8\x88\x80\x80\x80", b"\xfe\xfe", b"ok\xe2\x82\xacok\xe2\x82", b"\xc3\xa9\xc3", b"\xf0\x90a"]


def assigned_long_ago():
    """Characters that Unicode 3.2 had already: every library's tables agree about them."""
    old = unicodedata.ucd_3_2_0
    return [chr(c) for c in range(0x20, 0x2FA20) if not 0xD800 <= c < 0xE000 and old.category(chr(c)) not in ("Cn", "Co")]


def make_texts(added_tokens, count):
    """`count` byte strings; each of `added_tokens` appears in several of them."""
    rng = random.Random(20240607)
    old = assigned_long_ago()
    bmp = [c for c in old if not 0x3400 <= ord(c) < 0xD800]
    words = " ".join(SENTENCES).split(" ")
    texts = ["", " ", "a", "  ", "\n", "Hello world", " Hello", "Hello ", "hello  world", "\u3000", "\u0301", "▁", "é"]
    texts += SENTENCES + SNIPPETS + EMOJI + MARKS + CONTROLS
    texts += [" " * n + "x" + " " * n for n in (1, 2, 3, 4, 7, 16, 33)]
    texts += ["\n" * 5 + "\t" * 3 + "if x:\n" + " " * 8 + "y = 1\n\n\n", "a" * 99, "b" * 101, "é" * 100, "é" * 101,
              "abc" * 60, "漢" * 120, "0123456789" * 5, "!" * 50, "x y " * 20]
    for token in added_tokens:
        texts += [token, f"a{token}b", f"a {token} b", f" {token}{token} ", f"x\n  {token}\t\ty", token.upper() + token[:-1]]
    texts += [a + b for a in MARKS[:12] for b in MARKS[:6]]
    texts = [t.encode() for t in texts]
    texts += BROKEN + [b"ab" + b + b"cd \xc3\xa9" for b in BROKEN] + [b"".join(BROKEN[i:i + 4]) for i in range(len(BROKEN))]

    def fragment():
        kind = rng.randrange(12)
        if kind < 4:
            return " ".join(rng.choice(words) for _ in range(rng.randrange(1, 6)))
        if kind == 4:
            snippet = rng.choice(SNIPPETS)
            begin = rng.randrange(len(snippet))
            return snippet[begin:begin + rng.randrange(1, 24)]
        if kind == 5:
            return rng.choice(EMOJI)
        if kind == 6:
            return rng.choice(words) + rng.choice(MARKS)
        if kind == 7:
            return rng.choice(CONTROLS)
        if kind == 8:
            return rng.choice(SPACES) * rng.randrange(1, 4)
        if kind == 9:
            return "".join(rng.choice(bmp) for _ in range(rng.randrange(1, 5)))
        if kind == 10:
            return "".join(rng.choice(old) for _ in range(rng.randrange(1, 4)))
        return rng.choice(added_tokens)

    while len(texts) < count:
        text = b""
        for _ in range(rng.randrange(1, 4)):
            text += fragment().encode()
            if rng.randrange(40) == 0:
                text += rng.choice(BROKEN)
            text += rng.choice(SPACES if rng.randrange(4) == 0 else ["", " "]).encode()
        texts.append(text)
    return texts
