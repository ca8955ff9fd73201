"""Bare defaults say what Hadoop's own say."""

import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.install import defaults
from whitewire.install.defaults import write_defaults_jar

TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=30)


def document(properties: dict[str, str]) -> bytes:

    made = "".join(
        f"<property>\n <name>{escape(name)}</name><value>{escape(value)}</value>\n"
        "<description>much\ntext</description></property>\n<!-- a remark -->"
        for name, value in properties.items()
    )
    return f"<?xml version='1.0'?><configuration>{made}</configuration>".encode()


def values(text: bytes) -> dict[str, str]:

    return {entry.findtext("name"): entry.findtext("value") or "" for entry in ElementTree.fromstring(text)}


@given(st.dictionaries(TEXT.filter(str.strip), TEXT))
def test_names_and_values_stay(properties: dict[str, str]) -> None:
    text = defaults.bare(document(properties))
    assert values(text) == properties
    assert b"much" not in text


def test_a_final_property_stays_final() -> None:
    text = b"<configuration><property><name>a</name><value>1</value><final>true</final></property></configuration>"
    assert b"<final>true</final>" in defaults.bare(text)


@pytest.mark.parametrize("inside", ["<include href='x'/>", "<property><value>1</value></property>"])
def test_what_is_no_property_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match="expected a <property>"):
        defaults.bare(f"<configuration>{inside}</configuration>".encode())


def test_the_jar_holds_the_first_of_each_name(tmp_path: Path) -> None:
    for name, value in (("a.jar", "1"), ("b.jar", "2")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("core-default.xml", document({"x": value}))
            archive.writestr("other.xml", "<configuration/>")
    write_defaults_jar([tmp_path / "a.jar", tmp_path / "b.jar"], tmp_path / "defaults.jar")
    with zipfile.ZipFile(tmp_path / "defaults.jar") as archive:
        assert archive.namelist() == ["core-default.xml"]
        assert values(archive.read("core-default.xml")) == {"x": "1"}
