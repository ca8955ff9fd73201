"""Bodies of the images' definitions, run in a Debian root: what they install, and their own tests.

Apptainer is not needed. A root stands for an image; one that is made from another image goes on in that one's root.
"""

import shutil
from pathlib import Path

import pytest

from tests.support.roots import HOME, Root, requirements
from whitewire.workflow import recipes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
REASON = requirements()


def built(root: Root, name: str, top: Path = HOME) -> None:
    """Copy %files from `top`, run %post and %test as `apptainer build` does, and fail with the end of what failed."""
    recipe = recipes._load(HOME / "containers" / f"{name}.def")
    for source, target in recipe.pairs("files").items():
        root.put(top / source, target)
    done = root.run(["/bin/sh", "-ex", "-c", recipe.script("post")])
    assert done.returncode == 0, f"%post of {name}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    own_tests_pass(root, recipe)


def environment(recipe: recipes.Recipe) -> str:
    """%environment of an image and of those that it is made from, the first one first."""
    base = environment(recipes._load(HOME / "containers" / f"{recipe.base}.def")) if recipe.base else ""
    return base + recipe.script("environment")


def own_tests_pass(root: Root, recipe: recipes.Recipe) -> None:
    done = root.run(["/bin/sh", "-c", environment(recipe) + recipe.script("test")])
    assert done.returncode == 0, f"%test of {recipe.name}: status {done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("roots")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def probes(folder):
    """The root in which `probes` was built."""
    root = Root.debian(folder / "probes", "bookworm")
    built(root, "probes")
    return root


@pytest.fixture(scope="module")
def hadoop(probes):
    """The same root, with `hadoop` on top."""
    built(probes, "hadoop")
    return probes


@pytest.fixture(scope="module")
def publish(folder):
    root = Root.debian(folder / "publish", "bookworm")
    built(root, "publish")
    return root


def test_probes(probes):
    assert probes.run(["iperf3", "--version"]).returncode == 0


def test_a_failing_test_section_fails(probes):
    """Were %test not run, or its status lost, every recipe would pass."""
    recipe = recipes._load(HOME / "containers" / "probes.def")
    wrong = recipes.Recipe(recipe.name, recipe.header, {**recipe.sections, "test": "set -eu\nfalse\n"})
    with pytest.raises(AssertionError, match="%test of probes: status 1"):
        own_tests_pass(probes, wrong)


def test_hadoop(hadoop):
    done = hadoop.run(["sh", "-c", "ls /opt/hadoop/*.jar | wc -l"])
    assert int(done.stdout) > 150


def test_what_a_measurement_compiles_is_made_in_hadoop(hadoop):
    """scripts/software with Hadoop's jars from the image: nothing is fetched, and once is enough.

    Its last step starts an emulated cluster and runs jobs on it, with nothing but what the image has.
    """
    hadoop.put_tree(HOME, "/checkout", ("config", "envs", "scripts", "src", "workflow"))
    script = environment(recipes._load(HOME / "containers" / "hadoop.def")) + "exec /checkout/scripts/software /made"
    done = hadoop.run(["bash", "-c", script], env={"MAVEN_OPTS": "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"})
    assert done.returncode == 0, done.stderr
    made = hadoop.folder / "made"
    assert (made / "lib" / "whitewire.jar").is_file()
    assert not (made / "m2").exists()
    assert (made / "archives" / "hadoop.jsa").is_file(), done.stderr
    loaded = hadoop.run(["env", "LD_PRELOAD=/made/lib/libdrive.so", "true"])
    assert (loaded.returncode, loaded.stderr) == (0, "")
    again = hadoop.run(["bash", "-c", script])
    for step in ("Hadoop", "drive model", "resident client", "class archive"):
        assert f"setup: {step}" in done.stderr, step
        assert f"setup: {step}" not in again.stderr, step


def test_hibench(hadoop, tmp_path):
    """With a prepared copy of HiBench's layout: HiBench's own is fetched only where the image is really made."""
    copy = tmp_path / ".cache" / "hibench"
    shutil.copytree(HOME / "tests" / "data" / "hibench-tree", copy / "tree")
    (copy / "prepared.json").write_text('{"commit": ""}\n')
    built(hadoop, "hibench", tmp_path)


def test_publish(publish):
    done = publish.run(["Rscript", "--version"])
    assert done.returncode == 0


@pytest.mark.skipif(bool(REASON), reason=REASON or "a root can be made")
def test_sources_built_for_conda(folder):
    """envs/measure.post-deploy.sh with Debian's compiler in the place of conda's, and Debian's copy of the sources."""
    root = Root.debian(folder / "conda", "bookworm")
    root.put(HOME / "containers" / "packages", "/usr/local/sbin/packages")
    root.put(HOME / "envs" / "measure.post-deploy.sh", "/measure.post-deploy.sh")
    fetch = """
        packages bison ca-certificates curl flex gcc libc6-dev make pkg-config python3
        sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/src.list
        apt-get --quiet update
        mkdir /sources; cd /sources
        apt-get --quiet --download-only source iproute2 ethtool
        mv iproute2_6.1.0.orig.tar.xz iproute2-6.1.0.tar.xz
        mv ethtool_6.1.orig.tar.xz ethtool-6.1.tar.xz
    """
    done = root.run(["/bin/sh", "-ex", "-c", fetch])
    assert done.returncode == 0, done.stderr[-3000:]
    deploy = {"CONDA_PREFIX": "/prefix", "WHITEWIRE_SOURCES": "/sources"}
    done = root.run(["bash", "/measure.post-deploy.sh"], env=deploy)
    assert done.returncode == 0, done.stderr[-3000:]
    shaped = """
        export PATH=/prefix/bin:$PATH
        unshare --user --map-root-user --net sh -euc '
            ip link add wire0 type veth peer name wire1
            tc qdisc add dev wire0 root handle 1: htb default 1
            tc class add dev wire0 parent 1: classid 1:1 htb rate 8mbit
            tc qdisc add dev wire0 parent 1:1 handle 10: bfifo limit 65536
            tc -s -j qdisc show dev wire0 | grep -q bfifo
            ethtool -K wire0 tso off gso off gro off
            ethtool -k wire0 | grep -q "tcp-segmentation-offload: off"'
    """
    done = root.run(["sh", "-euc", shaped])
    assert done.returncode == 0, done.stderr
    (root.folder / "sources" / "ethtool-6.1.tar.xz").write_bytes(b"something else")
    done = root.run(["bash", "/measure.post-deploy.sh"], env=deploy)
    assert done.returncode != 0
    assert "ethtool-6.1.tar.xz: the checksum is not" in done.stderr
