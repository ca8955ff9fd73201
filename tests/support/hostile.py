"""An environment that a user has for other programs, in which every script here has to do as in an empty one."""

from __future__ import annotations

from pathlib import Path

PROFILE = "executor: cluster-generic\njobs: 999\ncluster-generic-submit-cmd: sbatch\n"


def hostile(folder: Path) -> dict[str, str]:
    """Its variables; `folder` takes files that some of them name, none of which may be read."""
    folder.mkdir(exist_ok=True)
    (folder / "shell").write_text("echo hostile; exit 9\n")
    (folder / "R").write_text('stop("hostile")\n')
    (folder / "config.yaml").write_text(PROFILE)
    for module in ("json", "yaml", "sitecustomize", "usercustomize"):
        (folder / f"{module}.py").write_text("raise SystemExit('hostile')\n")
    none = "/nonexistent"
    shells = {"CDPATH": f".:{folder}:/tmp:/", "ENV": f"{folder}/shell", "BASH_ENV": f"{folder}/shell", "IFS": "e/",
              "POSIXLY_CORRECT": "1", "PS4": "+hostile ", "SHELLOPTS": "xtrace", "GLOBIGNORE": "*"}  # fmt: skip
    gnu = {"GREP_OPTIONS": "--invert-match", "GREP_COLORS": "mt=01;31", "TAR_OPTIONS": "--hostile", "BLOCK_SIZE": "1",
           "LANGUAGE": "de:fr", "LANG": "xx_XX", "LC_ALL": "xx_XX.UTF-8", "LC_MESSAGES": "de_DE.UTF-8",
           "LC_NUMERIC": "de_DE.UTF-8", "TZ": "Mars/Phobos", "QUOTING_STYLE": "c"}  # fmt: skip
    python = {"PYTHONPATH": str(folder), "PYTHONWARNINGS": "error", "PYTHONSTARTUP": f"{folder}/json.py",
              "PYTHONHOME": none, "PYTHONOPTIMIZE": "2", "PIP_USER": "1", "PIP_TARGET": none}  # fmt: skip
    r = {"R_DEFAULT_PACKAGES": "NULL", "R_PROFILE": f"{folder}/R", "R_PROFILE_USER": f"{folder}/R",
         "R_ENVIRON": f"{folder}/R", "R_LIBS": str(folder), "R_HOME": none}  # fmt: skip
    java = {"JAVA_TOOL_OPTIONS": "-Xmx8m", "_JAVA_OPTIONS": "-Dhostile=1", "JDK_JAVA_OPTIONS": "-hostile",
            "CLASSPATH": str(folder), "HADOOP_OPTS": "-hostile", "HADOOP_CONF_DIR": str(folder),
            "HADOOP_CLASSPATH": str(folder)}  # fmt: skip
    git = {"GIT_DIR": none, "GIT_WORK_TREE": none, "GIT_INDEX_FILE": none}
    homes = {f"XDG_{name}": none for name in ("CONFIG_HOME", "CACHE_HOME", "DATA_HOME", "RUNTIME_DIR", "STATE_HOME")}
    rest = {"TMPDIR": none, "SNAKEMAKE_PROFILE": str(folder), "QUARTO_PROFILE": "hostile"}
    return {**shells, **gnu, **python, **r, **java, **git, **homes, **rest}


REMAIN = {"IFS", "LANG", "LC_ALL", "LC_MESSAGES", "LC_NUMERIC", "TZ", "TMPDIR"}
"""Of these, what may reach a program: the shell sets IFS itself, LC_ALL is ours, and a time zone and a folder for
temporary files are the user's to choose; so are the folders of XDG."""
