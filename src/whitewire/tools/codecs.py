"""Compression of map tasks' output: words for it, and Hadoop's settings."""

from __future__ import annotations

from collections.abc import Mapping

COMPRESS, CODEC = "mapreduce.map.output.compress", "mapreduce.map.output.compress.codec"
_PACKAGE = "org.apache.hadoop.io.compress"
CODECS = {"deflate": "DefaultCodec", "gzip": "GzipCodec", "snappy": "SnappyCodec", "bzip2": "BZip2Codec"}
"""Codecs that need only Hadoop's jars. LZ4 needs another jar, Zstandard needs Hadoop's native library."""
WORDS = ("none", *CODECS)


def codec_settings(word: str) -> dict[str, object]:
    """Settings of a job whose map tasks' output is compressed as `word` says."""
    if word == "none":
        return {COMPRESS: False}
    return {COMPRESS: True, CODEC: f"{_PACKAGE}.{CODECS[word]}"}


def word_of(settings: Mapping[str, str]) -> str:
    """The word for the compression in a job's settings; the class of a codec that has no word."""
    if settings.get(COMPRESS, "false") != "true":
        return "none"
    words = {f"{_PACKAGE}.{name}": word for word, name in CODECS.items()}
    return words.get(settings.get(CODEC, f"{_PACKAGE}.DefaultCodec"), settings.get(CODEC, ""))
