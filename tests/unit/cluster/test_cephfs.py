"""CephFS without a cluster: stripes, options, the configuration, and where the placement library puts a stripe."""

import ctypes
import errno
import itertools

import pytest

from whitewire.cluster import cephfs
from whitewire.cluster.cephfs import cephfs_unavailable
from whitewire.cluster.ost_drives import Ost
from whitewire.design import scaling
from whitewire.errors import UserError


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    path = tmp_path_factory.mktemp("placement") / "libplacement.so"
    path.write_bytes(cephfs.compiled_placement())
    function = ctypes.CDLL(str(path)).whitewire_group
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_ulonglong]
    return lambda name, osts=8: function(name.encode(), len(name), osts)


def stripe(file: int, number: int) -> str:
    return f"{0x10000000000 + file:x}.{number:08x}"


@pytest.mark.parametrize("osts", [1, 3, 8])
def test_stripes_of_a_file_lie_on_different_osts(group, osts):
    for file in range(50):
        assert {group(stripe(file, number), osts) for number in range(osts)} == set(range(osts))


@pytest.mark.parametrize("step", [1, 2, 3, 4, 8])
def test_files_begin_on_the_osts_in_turn_whatever_lies_between_them(group, step):
    begins = [group(stripe(step * file, 0)) for file in range(64)]
    assert {begins.count(ost) for ost in range(8)} == {8}


@pytest.mark.parametrize(
    "name", ["", ".", "10000000000", "1.00000000", "200.00000001", "mds0_sessionmap", "10000000000.00000000_head",
             "1000000000g.00000000", "10000000000.0000000", "10000000000.000000000", ".00000000"],
)  # fmt: skip
def test_other_names_are_left_to_ceph(group, name):
    assert group(name) == -1


def test_no_groups_no_placement(group):
    assert group(stripe(1, 1), 0) == -1


@pytest.mark.parametrize(
    ("full_scale", "k", "expected"), [(2**20, 1, 2**20), (2**20, 1000, 65536), (2**22, 20, 262144), (65537, 1, 131072)]
)
def test_stripes_are_multiples_of_the_least(full_scale, k, expected):
    assert scaling.stripe_unit(full_scale, k) == expected


def test_layout_in_cephs_words():
    assert cephfs.layout_text(4, 2**20, 8) == "stripe_unit=1048576 stripe_count=4 object_size=1073741824 pool=ost"
    words = dict(word.split("=") for word in cephfs.layout_text(1, 3 * 65536, 8).split())
    assert int(words["object_size"]) % int(words["stripe_unit"]) == 0


@pytest.mark.parametrize(("count", "size", "said"), [
    (0, 2**20, "stripe_count is 0, expected 1 to 8"), (9, 2**20, "stripe_count is 9"),
    (1, 4096, "stripe_size is 4096 bytes, expected a multiple of 65536"), (1, 65536 + 512, "stripe_size"),
])  # fmt: skip
def test_impossible_layouts(count, size, said):
    with pytest.raises(UserError, match=said):
        cephfs.layout_text(count, size, 8)


def test_mount_options():
    argv = cephfs.MountOptions(2**20, 2**23).argv()
    assert "--client_oc_max_dirty=1048576" in argv
    assert "--client_readahead_max_bytes=8388608" in argv


def test_configuration_names_every_daemon():
    osts = [Ost(number, None, f"10.78.1.{number + 1}") for number in range(2)]
    folders = {"mon.a": "/m", "mds.a": "/d", "osd.0": "/0", "osd.1": "/1"}
    text = cephfs._configuration("id", "10.77.0.2", osts, folders).decode()
    sections = [(key, list(lines)) for key, lines in itertools.groupby(text.splitlines(), lambda x: x.startswith("["))]
    assert len([line for key, lines in sections if key for line in lines]) == 1 + len(folders) + len(osts)
    for line in ("mon host = [v2:10.77.0.2:3300/0]", "osd objectstore = memstore", "public addr = 10.78.1.2"):
        assert line in text.splitlines()


# -- what is missing is said with its remedy ---------------------------------------------------------------------


def test_missing_programs(monkeypatch):
    monkeypatch.setattr(cephfs.shutil, "which", lambda name: None if name in ("ceph-mds", "tc") else name)
    assert cephfs_unavailable() == "missing: ceph-mds, tc; install ceph-mds iproute2"


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.setattr(cephfs.shutil, "which", lambda name: name)


def test_fuse_out_of_reach(monkeypatch, programs):
    def refuse(path, flags):
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(cephfs.os, "open", refuse)
    assert cephfs_unavailable() == "/dev/fuse: Permission denied; as root: modprobe fuse; chmod 666 /dev/fuse"


@pytest.mark.parametrize(("program", "remedy"), [(cephfs.PYTHON, "install python3-rados"), ("unshare", "modprobe ifb")])
def test_other_lacks(monkeypatch, programs, program, remedy):
    monkeypatch.setattr(cephfs.os, "open", lambda path, flags: 0)
    monkeypatch.setattr(cephfs.os, "close", lambda descriptor: None)
    monkeypatch.setattr(cephfs, "_fails", lambda argv: argv[0] == program)
    said = cephfs_unavailable()
    assert remedy in said
    assert "\n" not in said
    assert said.count("; ") >= 1
