"""A host's own files: modes are set and links are distinguished from files without a process for each. That a cluster's
configuration names these classes: test_workloads.py, which has one."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from whitewire.cluster.hdfs import LOCAL_FILES
from whitewire.testbed.emulated import software

PROGRAM = """
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.*;
import org.apache.hadoop.fs.permission.FsPermission;

public class Files {
    public static void main(String[] args) throws Exception {
        Configuration values = new Configuration();
        values.set("fs.file.impl", args[0]);
        values.set("fs.AbstractFileSystem.file.impl", args[1]);
        FileSystem.getLocal(values).setPermission(new Path(args[2], "file"), new FsPermission("640"));
        FileContext context = FileContext.getLocalFSFileContext(values);
        context.setPermission(new Path(args[2], "folder"), new FsPermission("1751"));
        context.rename(new Path(args[2], "old"), new Path(args[2], "new"));
        System.out.println(context.getFileLinkStatus(new Path(args[2], "file")).isSymlink());
    }
}
"""
HADOOPS = "org.apache.hadoop.fs.LocalFileSystem", "org.apache.hadoop.fs.local.LocalFs"


def run(folder: Path, classes: Iterable[str]) -> subprocess.CompletedProcess:
    """With no other program to be found than Java."""
    (folder / "Files.java").write_text(PROGRAM)
    for name in ("file", "old"):
        (folder / name).touch()
    (folder / "folder").mkdir()
    jars = ":".join(str(jar) for jar in [*software.hadoop_jars(), software.LIBRARIES / "whitewire.jar"])
    argv = [shutil.which("java"), "-cp", jars, str(folder / "Files.java"), *classes, str(folder)]
    return subprocess.run(argv, env={"PATH": "/nowhere"}, capture_output=True, text=True, timeout=120, check=False)


def test_modes_and_links_need_no_process(tmp_path):
    done = run(tmp_path, LOCAL_FILES.values())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["false"]
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o1751
    assert (tmp_path / "new").exists()


def test_hadoops_own_classes_need_one(tmp_path):
    """Else LocalFiles has no reason any more."""
    assert 'Cannot run program "chmod"' in run(tmp_path, HADOOPS).stderr
