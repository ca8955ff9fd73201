"""What a job compresses its map tasks' output with, in words, and as Hadoop's settings say it."""

from __future__ import annotations

from collections.abc import Mapping

COMPRESS, CODEC = "mapreduce.map.output.compress", "mapreduce.map.output.compress.codec"
PACKAGE = "org.apache.hadoop.io.compress"
CODECS = {"deflate": "DefaultCodec", "gzip": "GzipCodec", "snappy": "SnappyCodec", "bzip2": "BZip2Codec"}
"""Those that work with Hadoop's jars alone. LZ4 wants a jar that Hadoop does not bring, Zstandard Hadoop's native
library."""
WORDS = ("none", *CODECS)


def settings(word: str) -> dict[str, object]:
    """Settings of a job whose map tasks' output is compressed so."""
    if word == "none":
        return {COMPRESS: False}
    return {COMPRESS: True, CODEC: f"{PACKAGE}.{CODECS[word]}"}


def word_of(settings: Mapping[str, str]) -> str:
    """The word for what a job's settings say; of a codec without a word its class."""
    if settings.get(COMPRESS, "false") != "true":
        return "none"
    words = {f"{PACKAGE}.{name}": word for word, name in CODECS.items()}
    return words.get(settings.get(CODEC, f"{PACKAGE}.DefaultCodec"), settings.get(CODEC, ""))
