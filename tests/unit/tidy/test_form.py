"""Tidy tables are read where they have what readers need, and else refused in one line."""

import csv
import gzip
import io
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.analysis.trust import OF_TRUST
from whitewire.paths import HOME
from whitewire.records.checked import CELL_KINDS
from whitewire.records.samples import Torn
from whitewire.tidy import columns, form, tables
from whitewire.tidy.form import NEEDED_COLUMNS, check_cells
from whitewire.tidy.tables import LINKS_COLUMNS

REFERENCE = HOME / "results" / "reference"

CELLS = st.one_of(
    st.sampled_from(["", "1", "1.0", "-3", "1e3", "nan", "inf", "1_0", " 1", "true", "x", "0x1", "٣", "1,2"]),
    st.floats().map(str), st.integers().map(str), st.text(max_size=5),
)  # fmt: skip


def written(columns, row) -> bytes:
    output = io.StringIO(newline="")
    writer = csv.writer(output, lineterminator="\n")
    writer.writerows([columns, row])
    return output.getvalue().encode("utf-8", "surrogatepass")


@given(CELLS, CELLS)
def test_numbers_that_are_taken_are_numbers_to_pandas(fraction, rung):
    columns, cells = tables.TABLES["scale.csv"], ["e", "here", "emulated", "30", fraction, rung]
    content = written(columns, cells)
    try:
        rows = form.rows(content, "scale.csv")
    except Torn as torn:
        assert "\n" not in str(torn) and ("found" in str(torn))
        return
    assert rows == [dict(zip(columns, cells, strict=True))]
    read = pd.read_csv(io.BytesIO(content))
    assert float(read["rung"].iloc[0]) == float(rung)
    number = float(pd.to_numeric(read["data_fraction"]).iloc[0])
    assert number == pytest.approx(float(fraction)) or (math.isnan(number) and math.isnan(float(fraction)))


def test_columns_are_declared_once_and_in_a_known_kind():
    runs = columns.of_runs((), lanes=True)
    elsewhere = [name for names in columns.ELSEWHERE.values() for name in names]
    assert len(columns.COLUMNS) == len(runs) - 1 + len(elsewhere)  # the column of lanes is of hosts.csv too
    of_tables = [column for own in columns.OF_TABLES.values() for column in own]
    assert {column.kind for column in [*columns.COLUMNS.values(), *of_tables]} == {*CELL_KINDS, ""}
    assert columns.factors_of(columns.of_runs(["fabric", "k"], lanes=True)) == ["fabric", "k"]


def test_every_column_of_a_written_table_has_a_description_of_its_own_table():
    written = [*form.OWN.items(), *LINKS_COLUMNS.items(), *OF_TRUST.items()]
    assert [(table, name) for table, names in written for name in names if not columns.of(table, name).meaning] == []
    there = {(table, name) for table, names in written for name in names}
    judged = ("verdicts.csv", "estimates.csv")  # of the analysis, and checked in what travels
    own = [(table, column.name) for table, of in columns.OF_TABLES.items() for column in of if table not in judged]
    assert len({*own}) == len(own) and {*own} <= there
    assert columns.of("phases.csv", "start").meaning == "seconds since the job's submission"
    assert "no RDMA device" in columns.of("rdma.csv", "why_code").meaning
    assert columns.of("runs.csv", "fabric").meaning == "level of the factor fabric"
    with pytest.raises(KeyError):
        columns.of("phases.csv", "begin")


@pytest.mark.parametrize("name", NEEDED_COLUMNS)
def test_tables_as_they_are_written_are_taken_and_without_a_needed_column_not(name):
    columns = form.OWN[name]
    assert {*NEEDED_COLUMNS[name], *form._FILLED[name]} <= {*columns}
    assert form.rows(tables.as_csv(columns, [], name), name) == []
    for lost in NEEDED_COLUMNS[name]:
        with pytest.raises(Torn, match=f"^line 1: found no column {lost}, expected one$"):
            form.rows(tables.as_csv([each for each in columns if each != lost], [], name), name)


@pytest.mark.parametrize("level", ["null", "None", "NA", "nan", "n/a", "-"])
def test_a_level_is_text_whatever_it_is_called(tmp_path, level):
    path = tmp_path / "runs.csv"
    path.write_bytes(written(["run_id", "fabric", "value", "attempt", "clients"], ["r", level, "nan", "2", ""]))
    read = form.frame(path, form.kinds("runs.csv"), {"fabric": str, "clients": str})
    assert read["fabric"].tolist() == [level] and read["attempt"].tolist() == [2]
    assert read["value"].isna().all() and read["value"].dtype == float and read["clients"].isna().all()


def test_a_factor_may_be_called_as_a_number_of_another_table():
    columns = (*NEEDED_COLUMNS["runs.csv"], "rate")
    row = dict.fromkeys(columns, "1") | {"rate": "1gbe"}
    assert form.rows(tables.as_csv(columns, [row], "runs.csv"), "runs.csv") == [row]


def test_packed_tables():
    content = b"run_id,time,host,series,value,unit\nr,0.1,h,egress,2,MB/s\n"
    packed = gzip.compress(content)
    assert form.rows(packed, "series.csv.gz")[0]["value"] == "2"
    for broken in (content, packed[:-9], packed[:20] + b"\0\0" + packed[22:]):
        with pytest.raises(Torn, match="found no whole archive"):
            form.rows(broken, "series.csv.gz")


def test_a_column_that_is_there_twice():
    with pytest.raises(Torn, match='line 1: found the column "reason" twice, expected it once'):
        form.rows(b"run_id,experiment,cell,reason,reason\na,b,c,d,e\n", "unavailable.csv")


@pytest.mark.parametrize(
    "folder, columns", [("*/tidy", form.OWN), ("links/tables", LINKS_COLUMNS), ("trust/tables", OF_TRUST)]
)
def test_every_table_of_the_reference_is_of_the_kinds_of_its_columns(folder, columns):
    found = [path for path in REFERENCE.glob(f"{folder}/*.csv*") if path.is_file()]
    assert found
    for path in found:
        name = path.name if path.name in columns else path.name.removesuffix(".gz")
        content = path.read_bytes() if name == path.name else gzip.decompress(path.read_bytes())
        check_cells(content, name, columns[name])
