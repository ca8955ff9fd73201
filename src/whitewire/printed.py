"""Reads numbers and factors as papers print them. Pure.

A number with two readings is refused with both; of a factor all readings are given, for a person to confirm.
docs/use/add-a-paper.md has the table of accepted and refused texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from whitewire.text import numbers, quoted, suggestion

SIGNS = str.maketrans({
    "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-",
    "×": "x", "\u2044": "/", "\u2215": "/", "\u03bc": "µ", "\u2248": "~", "’": "'",
})  # fmt: skip
"""Characters that look (nearly) alike in print → the one that they all mean in a number or a unit."""
RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_POWER = re.compile(r"(?<!\d)10([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
FRACTION = re.compile(r"(\d*)([¼½¾⅐-⅞])")
NEAR = r"~|(?:about|approximately|approx\.?|roughly|around|circa)(?= )|ca\."
_ABOUT = re.compile(rf"^(?:{NEAR})\s*", re.IGNORECASE)
DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|\.\d+"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)(?:(?P<digits>{DIGITS})(?:\s?[x*·]\s?10(?:\^|\*\*)(?P<power>[-+]?\d{{1,2}}))?"
    r"|10(?:\^|\*\*)(?P<alone>[-+]?\d{1,2}))(?:\s(?P<word>thousand|million|billion|trillion)\b)?(?![\d^])",
    re.ASCII | re.IGNORECASE,
)
THOUSANDS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
GROUP = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""A non-breaking or thin space within a number. An ordinary space may separate two numbers."""


class Unread(ValueError):
    """Text without one sure reading; the message has what was found and what is near."""


def plain(text: str) -> str:
    """Text with signs that look alike unified: ASCII digits and spaces, `-`, `x`, `µ`, `10^6`, `0.5` for ½."""
    text = _POWER.sub(lambda match: f"10^{match[1].translate(RAISED)}", GROUP.sub("", text))
    text = FRACTION.sub(lambda match: f"{int(match[1] or 0) + unicodedata.numeric(match[2]):.10g}", text)
    kept = "".join(sign if unicodedata.decomposition(sign).startswith("<super>") else
                   unicodedata.normalize("NFKC", sign) for sign in text)  # fmt: skip
    return " ".join(kept.translate(SIGNS).split())


def strange(text: str) -> str:
    """`"М" (Cyrillic capital letter em)` for the first sign that no number or unit has; empty if there is none."""
    for sign in text:
        if not sign.isascii() and sign != "µ":
            return f'"{sign}" ({unicodedata.name(sign, "a sign without a name").capitalize()})'
    return ""


def leading_number(text: str) -> tuple[float, str, str] | None:
    """(number, its text, the text after it) of `plain` text that begins with a number; None for other text.

    The number may go on in what follows (`1` and `,5 GB/s`): see `goes_on`.
    """
    text = _ABOUT.sub("", text)
    match = _NUMBER.match(text)
    if not match:
        return None
    digits = Decimal((match["digits"] or "1").replace(",", ""))
    tens = int(match["power"] or match["alone"] or 0) + THOUSANDS.get((match["word"] or "").lower(), 0)
    return float(f"{match['sign']}{digits.scaleb(tens)}"), match[0], text[match.end() :]


_GOES_ON = re.compile(r"[.,'_/ ]+\d|,(?!\d)|\.(?=\s)|[-+]\d")
TWO = re.compile(r"\s?(?:x|%|times|percent)?,? (?:and|or) \d", re.IGNORECASE)
_RANGE = re.compile(r"\s?(?:x|%|times|percent)?\s?(?:-|to )\s?\d|-\d", re.IGNORECASE)


def goes_on(text: str, found: str, rest: str, like: str) -> Unread | None:
    """Why a number before `rest` is not a complete number; None if it is. `like` is the unit of the examples."""
    if TWO.match(rest):
        return Unread(f"found {quoted(text)}, expected one number: each of two is a claim of its own")
    if _RANGE.match(rest):
        return Unread(f"found {quoted(text)}, expected one number; a test takes a range as `lower` and `upper`")
    if not _GOES_ON.match(rest):
        return None
    comma = re.match(r",(\d+)(?![\d,.])", rest)
    if comma and found.isdigit():
        meant = f"{found}.{comma[1]}{like}"
        if found != "0" and len(comma[1]) < 3:
            meant += f" or {found},{comma[1]:0<3}{like}"
        return Unread(f"found {quoted(text)}, expected {meant}: a comma groups three digits")
    return Unread(
        f"found {quoted(text)}, expected one number with a decimal point (1.5{like}), or with commas before "
        f"three digits (1,500{like})"
    )


# --- factors ----------------------------------------------------------------------------------------

RATE, TIME = "throughput", "completion_time"
_Reading = Callable[[float], float]


def _same(n: float) -> float:
    return n


def _over(n: float) -> float:
    return 1 / n


def _more(n: float) -> float:
    return 1 + n


def _less(n: float) -> float:
    return 1 - n


def _over_more(n: float) -> float:
    return 1 / (1 + n)


def _over_less(n: float) -> float:
    return 1 / (1 - n) if n < 1 else 0


_OF = (
    r"(?:the )?(?:(?:overall|total|average|aggregate|sequential|random|read|write|ingest|import|loading|load|transfer|"
    r"network|disk|storage|cluster|job|task|query|execution|completion|run|elapsed|processing|response|communication|"
    r"shuffle|sort)[ -]?){0,3}"
)
"""Words before a rate or a time that name what it measures."""
_SPEED = rf"{_OF}(?:throughput|bandwidth|speed|rate|performance|goodput)"
_DURATION = rf"{_OF}(?:times?|latency|duration|runtime)"
_MORE = r"(?:more|higher|greater|larger|increased?|increase in|up)"
_BETTER = r"(?:better|improvements?|improved|gains?|boost|bump|advantage)(?: (?:in|of))?"
_LESS = r"(?:less|lower|fewer|smaller)"
_CUT = r"(?:reduction|reduced|decrease|drop|savings?|saved)(?: (?:in|of))?"
_FASTER = rf"(?:faster|quicker|speed-?up|(?:performance )?{_BETTER}|(?:{_MORE}|{_BETTER}) performance)"
_FORMS: tuple[tuple[str, str, tuple[_Reading, ...], tuple[_Reading, ...]], ...] = (
    ("x", r"", (_same,), (_same, _over)),
    ("x", r"as fast|(?:the |as much )?performance", (_same,), (_over,)),
    ("x", rf"(?:as much |of )?{_SPEED}", (_same,), ()),
    ("x>", _FASTER, (_same,), (_over,)),
    ("x>", rf"(?:{_MORE}|{_BETTER}) {_SPEED}|{_SPEED} (?:{_MORE}|{_BETTER})", (_same,), ()),
    ("x>", r"slower", (_over,), (_same,)),
    ("x", rf"as long|(?:as much |of )?{_DURATION}", (), (_same,)),
    ("x>", rf"longer|more {_DURATION}", (), (_same,)),
    ("x>", rf"increase in {_DURATION}", (), (_same, _over)),
    ("x>", rf"shorter|(?:{_LESS}|{_CUT}) {_DURATION}", (), (_over,)),
    ("x>", rf"{_BETTER} {_DURATION}", (), (_over,)),
    ("x>", _MORE, (_same,), (_same,)),
    ("x>", _LESS, (_over,), (_over,)),
    ("%", r"", (_more, _same, _less), (_more, _same, _less)),
    ("%", _FASTER, (_more,), (_less, _over_more)),
    ("%", rf"(?:{_MORE}|{_BETTER}) {_SPEED}|{_SPEED} (?:{_MORE}|{_BETTER})", (_more,), ()),
    ("%", rf"(?:{_LESS}|{_CUT}) {_SPEED}|{_SPEED} (?:{_LESS}|{_CUT})", (_less,), ()),
    ("%", r"slower", (_less, _over_more), (_more,)),
    ("%", rf"{_BETTER} {_DURATION}", (), (_less, _over_more)),
    ("%", rf"longer|{_MORE} {_DURATION}|{_DURATION} {_MORE}", (), (_more,)),
    ("%", rf"shorter|(?:{_LESS}|{_CUT}) {_DURATION}|{_DURATION} (?:{_LESS}|{_CUT})", (), (_less,)),
    ("%", _CUT, (_less, _over_less), (_less,)),
    ("%", _MORE, (_more,), (_more,)),
    ("%", _LESS, (_less,), (_less,)),
    ("%", r"of it", (_same,), (_same,)),
    ("%", rf"of {_SPEED}", (_same,), ()),
    ("%", rf"of {_DURATION}", (), (_same,)),
    ("+%", r"", (_more,), (_more,)),
    ("-%", r"", (_less,), (_less,)),
    ("+%", _SPEED, (_more,), ()),
    ("-%", _SPEED, (_less,), ()),
    ("+%", _DURATION, (), (_more,)),
    ("-%", _DURATION, (), (_less,)),
)  # fmt: skip
"""(form of the number, words behind it, its readings as a ratio of rates, its readings as a ratio of times). No
reading means that the text is about the other metric. `x>`: a multiple above 1."""
DOUBLED: dict[tuple[_Reading, ...], tuple[_Reading, ...]] = {
    (_more,): (_more, _same), (_less, _over_more): (_over_more, _over),
}  # fmt: skip
"""Readings of percentages above 100: `200 % faster` is also written for twice as fast."""
EXAMPLES = (
    "6x", "6x faster", "6x as fast", "3x slower", "1/2 the time", "2x the throughput", "3x improvement", "50 % faster",
    "60 % less time", "60 % shorter", "60 % of the time", "+60 %", "-40 %", "40 % lower", "60 % higher", "60 % more",
    "50 % reduction", "30 % improvement", "20 % longer", "60 % higher throughput",
)  # fmt: skip
_TIMES = re.compile(r"\s?(?:x\b|times\b|-?fold\b)", re.IGNORECASE)
PERCENT = re.compile(r"\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
_BESIDE = re.compile(
    r"\s*(?:\b(?:than|over|compared|versus|vs\b\.?|relative to|with|using|when|for|on|at)\b.*|"
    r"\b(?:of|in) (?-i:[A-Z]).*|[.!])$",
    re.IGNORECASE,
)
"""Words after a factor that are no part of it: compared with what, with what, of which job."""


def _readings(text: str, said: str, metric: str) -> list[tuple[float, bool]]:
    """Readings of `said`: (ratio, whether it grows with the printed number). Raises Unread, which quotes `text`."""
    found = leading_number(said)
    if sign := strange(said):
        raise Unread(f"found {sign} in {quoted(text)}, expected a factor such as 6x or 50 % faster")
    if not found:
        raise Unread(f"found {quoted(text)}, expected text that begins with a number, such as 6x or 50 % faster")
    value, printed, rest = found
    if parts := re.match(r"\s?/\s?(\d{1,3})(?![\d.,/])", rest):
        value, printed, rest = value / int(parts[1]) if int(parts[1]) else 0.0, printed + parts[0], rest[parts.end() :]
    elif why := goes_on(text, printed, rest, "x"):
        raise why
    form, words, size = _form(value, printed, rest)
    rows = _rows(form, words)
    if not rows or not 0 < size <= 10**6:
        near = suggestion(said, EXAMPLES)
        raise Unread(f"found {quoted(text)}, expected a factor such as 6x, 50 % faster or 1/2 the time{near}")
    needs, _, *readings = rows[0]
    sure = readings[metric == TIME]
    if not sure:
        raise Unread(f"found {quoted(text)}, expected a factor of {metric}, not of {TIME if metric == RATE else RATE}")
    if needs == "x>" and size < 1:  # a part of it, as a percentage would be, and not a number of times
        as_rate = [each for each in sure if each is _same and metric == RATE]
        for row in _rows("%", words):
            sure = (*as_rate, *(row[3] if metric == TIME else row[2]))
    elif needs == "%" and size > 1:
        sure = DOUBLED.get(sure, sure)
    return [(float(f"{each(size):.10g}"), each(1.01 * size) > each(size)) for each in sure]


def _rows(form: str, words: str) -> list[tuple[str, str, tuple[_Reading, ...], tuple[_Reading, ...]]]:
    """The rows of _FORMS for a form of number and the words behind it."""
    return [row for row in _FORMS if row[0].rstrip(">") == form and re.fullmatch(row[1], words, re.IGNORECASE)]


def _form(value: float, printed: str, rest: str) -> tuple[str, str, float]:
    """Form of a number (`x`, `%`, `+%`, `-%`), the words behind it, and its size (0.6 for 60 %)."""
    signed = printed[0] if printed[0] in "+-" else ""
    if percent := PERCENT.match(rest):
        rest, form, value = rest[percent.end() :], f"{signed}%", abs(value) / 100
    else:
        times = _TIMES.match(rest)
        rest, form = rest[times.end() if times else 0 :], f"{signed}x"
    words = re.sub(r"^(?:an?|the) ", "", _BESIDE.sub("", rest).strip(" -"))
    return form, words, value


# --- factors as vendors print them ------------------------------------------------------------------

UP_TO, MORE, FEWER = "up to", "more than", "less than"
_BOUNDS = (
    (UP_TO, r"up to|as much as|(?:a )?maximum of"), (MORE, r"more than|greater than|over|at least|[>≥]=?"),
    (FEWER, r"less than|at most|[<≤]=?"), ("", r"nearly|near|almost|close to"),
)  # fmt: skip
"""Kinds of bound on a number, and the words for each."""
_COUNTED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMERALS = {word: str(count) for count, word in enumerate(_COUNTED, start=2)}
FACTOR_OF = re.compile(rf"\b(?:a )?factor of (\d+(?:[.,]\d+)*|(?:{'|'.join(_COUNTED)})\b)", re.IGNORECASE)
FIRST_WORDS = (
    (r"(?:(?:a |one )?half|halve[sd]?)\b", "1/2"), (r"(?:a |one )?third\b", "1/3"), (r"(?:a |one )?quarter\b", "1/4"),
    (r"two[ -]thirds\b", "2/3"), (r"three[ -]quarters\b", "3/4"), (r"(?:twice|double[sd]?)\b", "2x"),
    (r"triple[sd]?\b", "3x"), (r"quadruple[sd]?\b", "4x"),
    *((rf"{word}(?=[ -]?(?:times|fold|per ?cent|x)\b)", count) for word, count in NUMERALS.items()),
)  # fmt: skip
"""Number words that a factor begins with, and the same in digits."""
VERBS = (
    (r"\b(?:reduces?|cuts?|lowers|shortens?)\b", "reduced"), (r"\b(?:raises?|increases)\b", "increased"),
    (r"\b(?:improves?|boosts?)\b", "improved"),
)  # fmt: skip
DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d{1,2})(?![\d.,])")
_UNIT = r"\s?(?:x\b|times\b|-?fold\b|%|percent\b|per cent\b)"
SAID_OF = "|".join(words for _, words in _BOUNDS)
FILLING = re.compile(r"(?:(?:still|only|just|some|an?|the|in|by(?= \D*\d))\s+)*", re.IGNORECASE)
CHANGED = re.compile(
    rf"(?P<words>[a-z][a-z ]*?) (?:by|of) (?P<number>(?:(?:{SAID_OF}|{NEAR}|an?) ?)*\d[\d.,]*{_UNIT})(?P<rest>.*)",
    re.IGNORECASE,
)
"""A change that is named before its number: `faster by 50 %`, `gain of 60 %`."""
ENDS = re.compile(
    rf"(?P<between>between )?(?:from )?(?P<low>\d[\d.]*|\.\d+)(?P<unit>{_UNIT})?\s?"
    r"(?:-|to |(?(between)and |(?!)))\s?(?P<high>(?:\d|\.\d).*)",
    re.IGNORECASE,
)
"""Both ends of a range. Two numbers joined only by `and` are no range."""


@dataclass(frozen=True)
class PrintedRatio:
    """A ratio that a text may mean: `low` to `high`, equal for one number; `bound`: its kind of bound (_BOUNDS)."""

    low: float
    high: float
    bound: str = ""

    def __str__(self) -> str:
        ends = dict.fromkeys(numbers([self.low, self.high]))
        return " ".join([*([self.bound] if self.bound else []), " to ".join(ends), "times"])


def ratios(text: str, metric: str = RATE) -> list[PrintedRatio]:
    """Each ratio that a text may mean: `60%` of throughput is 1.6, 0.6 or 0.4, `3-5x` is 3 to 5. Raises Unread."""
    said, bound = _in_digits(plain(text))
    readings = [_readings(text, end, metric) for end in _ends(said)]
    if len({len(each) for each in readings}) > 1:
        raise Unread(f"found {quoted(text)}, expected a range with both ends in one form, such as 3-5x")
    pairs = list(zip(*readings, strict=True))
    if not all(map(_rises, pairs)):
        raise Unread(f"found {quoted(text)}, expected a range from the smaller number to the larger, such as 3-5x")
    found = [_ratio(ends, bound) for ends in pairs if min(ends)[0] > 0]
    if not found:
        raise Unread(f"found {quoted(text)}, expected more than nothing: the ratio that it means")
    return list(dict.fromkeys(found))


def _rises(ends: Sequence[tuple[float, bool]]) -> bool:
    """Whether the first number of a range is no larger than the second, by a reading of both."""
    (first, grows), (last, _) = ends[0], ends[-1]
    return first <= last if grows else first >= last


def _ratio(ends: Sequence[tuple[float, bool]], bound: str) -> PrintedRatio:
    """The ratio of one reading. A bound is reversed if the ratio falls as the printed number grows."""
    falls = not ends[0][1]
    turned = {MORE: FEWER, FEWER: MORE}.get(bound, bound) if falls else bound
    return PrintedRatio(min(ends)[0], max(ends)[0], turned)


def _in_digits(said: str) -> tuple[str, str]:
    """The factor rewritten to begin with its number in digits, and the kind of bound on that number."""
    said = FACTOR_OF.sub(lambda match: f"{NUMERALS.get(match[1].lower(), match[1])}x", said)
    said, bound = _without_bound(_begun(said))
    if changed := CHANGED.fullmatch(said):
        said = f"{changed['number']}{_BESIDE.sub('', changed['rest'])} {changed['words']}"
        said, bound = _without_bound(said) if not bound else (said, bound)
    for pattern, verb in VERBS:
        said = re.sub(pattern, verb, said, flags=re.IGNORECASE)
    said = _begun(said)
    for pattern, digits in FIRST_WORDS:
        said = re.sub(rf"^{pattern}", digits, said, flags=re.IGNORECASE)
    return DECIMAL_COMMA.sub(r"\1.\2", said), bound


def _begun(said: str) -> str:
    """The text without filler words before its number."""
    bare = FILLING.sub("", said, count=1)
    return FILLING.sub("", _ABOUT.sub("", bare), count=1)


def _without_bound(said: str) -> tuple[str, str]:
    for bound, words in _BOUNDS:
        if match := re.match(rf"(?:{words})\s*(?=\S)", said, re.IGNORECASE):
            return said[match.end() :], bound
    more = re.match(rf"(\d[\d.,]*(?:{_UNIT})?)\s?\+|(.*) or more\b", said, re.IGNORECASE)
    return (f"{more[1] or more[2]}{said[more.end() :]}", MORE) if more else (said, "")


def _ends(said: str) -> list[str]:
    """Both ends of a range, each with the words behind it; any other text alone."""
    match = ENDS.fullmatch(said)
    if not match:
        return [said]
    low, high = match["low"], match["high"]
    words = re.sub(r"^[\d.]+", "", high)
    if match["unit"]:
        words = match["unit"] + re.sub(rf"^{_UNIT}", "", words, flags=re.IGNORECASE)
    return [f"{low}{words}", high]
