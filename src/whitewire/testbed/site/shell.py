"""Scripts in POSIX sh for remote hosts, and the command lines that carry them. Pure.

A remote host needs no program of ours, only sh and the usual tools (coreutils, grep, iproute2). The scripts are
constants; variable parts are passed as quoted arguments, never as part of their text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

MARKER = "WHITEWIRE_RUN"
"""The environment variable by which a host recognizes every process of a run, whatever its parents."""

READY = "@@ready"
"""The first line of a watcher's and a clock's output; earlier lines are those of start files and prologs."""

WATCH_PATIENCE_S, BEAT_S = 30, 3
"""Seconds without a signal after which a watcher cleans up, and seconds between these signals."""

SIGNALS = "HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU"
"""Signals by which a terminal or a scheduler ends all processes, SIGKILL aside."""

SWEEP = """
sweep() {
    none=0
    for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        found=$(grep -lsz -- "^$1" /proc/[0-9]*/environ)
        if [ -z "$found" ]; then
            none=$((none + 1))
            if [ $none = 2 ]; then return 0; fi
            continue
        fi
        none=0
        for path in $found; do path=${path#/proc/}; kill -KILL "${path%/environ}" 2>/dev/null; done
        if [ $round -gt 2 ]; then sleep 0.1; fi
    done
}
"""
"""sweep MARKER: end every process with a variable in its initial environment that begins with MARKER, and those that
they start meanwhile, until two searches in a row find none. A process that SIGKILL does not end (it waits for a device)
is given up after some two seconds. Apptainer's own processes have the marker inside another variable, so they survive
to unmount the image."""

WATCH = (
    SWEEP
    + f"trap '' {SIGNALS}"
    + """
patience=$1; marker=$2; folder=$3; drives=$4; shift 4
mkdir -p "${folder%/*}" && mkdir "$folder" || exit 1
mkdir "$folder/tmp" "$folder/pids" "$folder/conf" "$drives" || exit 1
number=0
for data; do
    if ! mkdir "$data"; then
        for made; do [ $number -gt 0 ] || break; rmdir "$made"; number=$((number - 1)); done
        rm -rf -- "$folder"
        exit 1
    fi
    number=$((number + 1))
    ln -s "$data" "$drives/$number"
done
printf '\\n@@ready\\n'
while [ -n "$(timeout -s KILL "$patience" head -c 1)" ]; do :; done 2>/dev/null
for _ in 1 2; do sweep "$marker"; rm -rf -- "$folder" "$@"; done
"""
)
"""The watcher of a host makes its folders, prints READY and waits. The measuring machine sends it a byte every few
seconds. When none arrives for WATCH_PATIENCE_S, or the connection ends, the watcher ends every process of the run and
removes its folders. It does so twice, for commands that were just starting: each begins in a folder of the run. Only
SIGKILL ends the watcher itself. Signals that a scheduler sends before the end of a job may end the command that it
waits for, and then it cleans up.
Arguments: the patience in seconds, the marker, the run folder, its folder of drives, then one data folder per drive.

`mkdir` without -p: a folder that exists already belongs to another host, so the path is not local to each."""

END = (
    SWEEP
    + """
round=0
while [ -n "$2" ] && [ ! -s "$2" ] && [ $round -lt 20 ]; do sleep 0.1; round=$((round + 1)); done
if [ "$3" -gt 0 ] && read -r pid < "$2" && grep -qsz -- "^$1" "/proc/$pid/environ"; then
    kill -TERM "$pid"
    round=0
    while [ $round -lt "$3" ] && grep -qsz -- "^$1" "/proc/$pid/environ"; do sleep 0.05; round=$((round + 1)); done
fi
sweep "$1"
"""
)
"""End a process and its children. Arguments: the marker; the process's PID file, written when it starts (or nothing);
the time to wait after SIGTERM before SIGKILL, in units of 0.05 s (0: SIGKILL at once)."""

STAT = 'read -r pid < "$1" && grep -qsz -- "^$2" "/proc/$pid/environ" && cat "/proc/$pid/stat"'
"""Print /proc/PID/stat of the process whose PID is in file $1, if that still has the marker $2."""

PUT = 'mkdir -p "${1%/*}" && cat > "$1"'
"""Write standard input to the file $1."""

CLOCK_ASKS = 3
CLOCK = f"printf '\\n{READY}\\n'" + "; read -r _; date +%s.%N" * CLOCK_ASKS
"""Prints READY, then CLOCK_ASKS times waits for a line and prints the time, so that round trips can be measured."""

SAMPLE = """
set -- "/sys/class/net/$1/statistics" "$2"
read -r up _ < /proc/uptime
printf '\\nbase %s %s\\n' "$(date +%s.%N)" "$up"
while :; do
    now=${EPOCHREALTIME:-}
    if [ -z "$now" ]; then read -r now _ < /proc/uptime; fi
    read -r _ user nice system idle wait irq soft steal _ < /proc/stat
    read -r egress < "$1/tx_bytes"
    read -r ingress < "$1/rx_bytes"
    echo "$now $((user + nice + system + idle + wait + irq + soft + steal)) $((idle + wait)) $egress $ingress" || exit
    for file in "$2"/*; do
        if read -r pid < "$file" && read -r stat < "/proc/$pid/stat"; then
            case ${stat##*) } in "T "*) echo "still ${file##*/}" || exit ;; esac
        fi
    done 2>/dev/null
    sleep 0.1
done
"""
"""Print ten times a second the time, all and idle processor ticks, and the bytes that interface $1 sent and received;
and `still` with the name of each PID file in $2 whose process a signal has stopped. Only `sleep` is forked. Times are
seconds since 1970 if the shell knows them (bash 5), else seconds since boot, to 0.01 s, which the line `base` relates
to the former. An empty line comes first, because a start file may have printed a line without its end."""

BEST_SHELL = 'shell=$(command -v bash || command -v sh); exec "$shell" -c "$@"'

READINGS = """
cd "/sys/class/net/$1/statistics" || exit
for name in tx_bytes rx_bytes tx_dropped rx_dropped; do read -r value < $name; echo "$name $value"; done
[ -r ../carrier_changes ] && read -r value < ../carrier_changes && echo "carrier_changes $value"
cat /proc/net/snmp /proc/net/netstat
read -r line < /proc/stat; echo "$line"
"""
"""Print all counters: those of interface $1, of TCP and of the processors."""

EACH_PORT = """
each_port() {
    for device in /sys/class/infiniband/*; do
        for port in "$device"/ports/*; do
            [ -e "$port/state" ] || continue
            names=$(cat "$device/parent" "$port"/gid_attrs/ndevs/* | sort -u)
            if [ -z "$names" ]; then
                alone=$(ls "$device/ports" | wc -l)
                for net in "$device"/device/net/*; do
                    number=$(cat "$net/dev_port")
                    if [ "$alone" -eq 1 ] || [ "$((number + 1))" = "${port##*/}" ]; then names="$names ${net##*/}"; fi
                done
            fi
            "$1" "${device##*/}/${port##*/}" "$port" $names
        done
    done
}
"""
"""each_port COMMAND: run a command for each RDMA port of the host, with arguments: its name (device/number), its folder
and the network interfaces that it belongs to.

Those are the interfaces of its GIDs (RoCE) and of a software device. If there are none (InfiniBand, iWARP), they are
the card's interfaces; on a card with several ports, the interface with the port's number (`dev_port` counts from 0)."""

PORT_SCRIPT = (
    EACH_PORT
    + """
interface=$1
counted() {
    name=$1; port=$2; shift 2
    for net; do
        [ "$net" = "$interface" ] || continue
        echo "rdma $name"
        more=$port/hw_counters
        [ -d "$more" ] || more=${port%/ports/*}/hw_counters
        for file in "$port"/counters/port_*_data "$more"/*; do
            read -r value < "$file" && echo "rdma $name ${file##*/} $value"
        done
    done
}
each_port counted 2>/dev/null
grep ^TcpExt: /proc/net/netstat
"""
)
"""Print counters of the RDMA ports that interface $1 belongs to, and of the kernel's TCP; see tools.rdma_counters.

A driver that counts by device alone (cxgb4) has no hw_counters of a port. Others repeat a port's among the device's."""

ABOUT = {
    "processor": "grep -m 1 '^model name' /proc/cpuinfo",
    "processors": "getconf _NPROCESSORS_ONLN",
    "memory": "grep ^MemTotal /proc/meminfo",
    "kernel": "uname -r",
    "system": "grep ^PRETTY_NAME= /etc/os-release",
    "sysctls": """cd /proc/sys/net && for name in ipv4/tcp_congestion_control ipv4/tcp_rmem ipv4/tcp_wmem \\
        ipv4/tcp_no_metrics_save ipv4/tcp_sack ipv4/tcp_timestamps ipv4/tcp_window_scaling core/rmem_max \\
        core/wmem_max core/netdev_max_backlog core/default_qdisc; do [ -r $name ] && echo "$name $(cat $name)"; done""",
    "disks": """for disk in /sys/block/*; do
        case $disk in */loop*|*/ram*|*/zram*) continue ;; esac
        echo "$(basename $disk) $(cat $disk/size) $(cat $disk/queue/rotational) $(cat $disk/queue/scheduler)"
    done""",
}
"""Properties of a machine, recorded with every block. Disks: name, sectors of 512 bytes, 1 if rotating, schedulers."""

VERSIONS = {
    "java": '"$1" -XX:-UsePerfData -version 2>&1',
    "iperf3": "iperf3 --version",
    "fio": "fio --version",
}
"""Versions of a host's commands, also recorded with every block. $1: the java command."""

IMAGE_QUESTIONS = {"apptainer": "apptainer --version", "image": 'sha256sum "$1"'}
"""Version of the program that runs a host's image, and digest of the image's file $1; recorded too."""

ABOUT_INTERFACE = {
    "driver": 'ethtool -i "$1"',
    "offloads": 'ethtool -k "$1"',
    "qdisc": 'tc -d qdisc show dev "$1"',
    "speed": 'cd "/sys/class/net/$1" && { [ -e device ] || [ -e bonding ]; } && cat speed',
    "mtu": 'cat "/sys/class/net/$1/mtu"',
}
"""Properties of an interface $1, recorded too."""

JAVA_HOME = 'java=$(command -v "$1") && java=$(readlink -f "$java") && echo "${java%/bin/java}"'

_DRIVE = """
drive() {
    source=$(df -Pk "$1" | awk 'NR == 2 { print $1 }')
    disks=$(lsblk --noheadings --inverse --raw --output NAME,TYPE "$source" |
        awk '$2 == "disk" { all = all "," $1 } END { print substr(all, 2) }')
    echo "${disks:-$(stat -L -c %d "$1")}"
}
"""
"""drive FOLDER: print the disks below its file system, also through partitions and volumes, or else the number of the
file system."""

MACHINE_QUESTIONS = {
    "memory": """grep ^MemTotal /proc/meminfo
    while IFS=: read -r _ kind path; do
        case ,$kind, in
            ,,) top=/sys/fs/cgroup limit=memory.max ;;
            *,memory,*) top=/sys/fs/cgroup/memory limit=memory.limit_in_bytes ;;
            *) continue ;;
        esac
        while cat "$top$path/$limit"; [ "$path" ]; do path=${path%/*}; done
    done < /proc/self/cgroup""",
    "processors": "getconf _NPROCESSORS_ONLN",
    "usable": "nproc",
    "governors": "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c",
    "addresses": "ip -json address show",
    "speeds": """for path in /sys/class/net/*; do
        read -r speed < "$path/speed" && echo "${path##*/} $speed"
    done""",
    "shapers": """for path in /sys/class/net/*; do
        { tc qdisc show dev "${path##*/}"; tc class show dev "${path##*/}"; } | sed "s|^|${path##*/} |"
    done""",
    "offloads": """for path in /sys/class/net/*; do
        on=$(ethtool -k "${path##*/}" | sed -n 's/^tcp-segmentation-offload: on.*/tso/p;
            s/^generic-segmentation-offload: on.*/gso/p; s/^generic-receive-offload: on.*/gro/p;
            s/^large-receive-offload: on.*/lro/p')
        echo ${path##*/} $on
    done""",
    "listening": """awk '$4 == "0A" { print $2 }' /proc/net/tcp /proc/net/tcp6""",
    "missing": """for tool in env timeout head grep kill mkdir rm mv ln find cat tar date readlink awk sed df \\
        ip fincore; do
        command -v $tool > /dev/null || echo $tool
    done""",
    "site": '[ -z "$SITE" ] || cat "$SITE/mapred-site.xml" || echo "<configuration/>"',
    "folders": _DRIVE
    + """
    shift
    system=$(drive /)
    for folder; do
        there=$folder
        while [ ! -d "$there" ]; do there=${there%/*}; there=${there:-/}; done
        writable=no; [ -w "$there" ] && writable=yes
        present=no; [ "$there" = "$folder" ] && present=yes
        on=$(drive "$there"); [ "$on" = "$system" ] && on=/
        echo "$(df -Pk "$there" | awk 'NR == 2 { print $4 }') $writable $present $on $folder"
    done""",
}
"""Checks of a machine before anything is started. Arguments: $1, then the folder `work` and the data folders. For each
folder: free KiB on its file system, whether it (or its nearest existing parent) is writable, whether it exists, its
drive (`/`: that of the system), its path. `memory`: the machine's, then the limits in bytes of our cgroup and of its
parents (versions 2 and 1). `processors`: the machine's, `usable`: those that we may use. `site`: the configuration of
jobs on a site's own cluster, from the folder $SITE. `listening`: addresses and ports in hexadecimal, as the kernel
prints them (proc_net_tcp(5))."""

PROGRAMS = ("iperf3", "curl", "fio")
FIO_ENGINE = "fio-engine-libaio"
"""The package of the I/O engine that fio needs here, where a distribution packages it separately."""
SOFTWARE = {
    "java": '"$1" -XX:-UsePerfData -version 2>&1 | head -n 2',
    "java_home": JAVA_HOME,
    "iperf3": "iperf3 --version",
    "programs": f"""for tool in {" ".join(PROGRAMS)}; do command -v $tool > /dev/null || echo $tool; done
    if fio --enghelp=libaio 2>&1 | grep -q 'engine libaio not found'; then echo {FIO_ENGINE}; fi""",
}
"""Checks of the programs that commands find: in the image, if a host has one. $1: the java command."""
PREFLIGHT = SOFTWARE | MACHINE_QUESTIONS
"""All checks; `folders` comes last, because it shifts the arguments."""

READ_TRANSPORTS = {
    "ports": EACH_PORT
    + """
    state() { read -r _ state < "$2/state"; name=$1; shift 2; echo "$name $state" "$@"; }
    each_port state""",
    "gids": EACH_PORT
    + """
    gids() {
        { read -r layer < "$2/link_layer" && read -r node < "${2%/ports/*}/node_type"; } || return
        [ "$layer $node" = "Ethernet 1: CA" ] && [ -d "$2/gid_attrs/types" ] || return
        echo "$1"
        for file in "$2"/gid_attrs/types/*; do
            read -r kind < "$file" && read -r gid < "$2/gids/${file##*/}" && echo "$1 $gid $kind"
        done
    }
    each_port gids""",
    "locked": "ulimit -l",
}
"""Further checks for testbeds with transports of kind rdma. `ports`: name, state, interfaces; `gids`: of each RoCE port
its name, and its name, address and kind for each of its GIDs; `locked`: KiB of memory that a process may lock, or
`unlimited`."""
PRELOADED = """for library in $PRELOAD; do
        said=$(LD_LIBRARY_PATH=$PRELOAD_PATH LD_PRELOAD=$library env true 2>&1) || said="cannot be preloaded"
        case $said in *"cannot be preloaded"*) echo "$library" ;; esac
    done"""
"""Print the libraries in $PRELOAD that the loader cannot preload, with the folders $PRELOAD_PATH. Some libraries print
lines of their own."""
RSOCKETS_FILE = "/etc/rdma/rsocket/preload_config"
RSOCKETS = f"""case $PRELOAD in
        *librspreload*) grep -qs "INET STREAM" {RSOCKETS_FILE} || echo {RSOCKETS_FILE} ;;
    esac"""
"""Print the file of librspreload that does not keep it from datagram sockets (docs/sites/transports.md)."""
PRELOADING = {"preloaded": PRELOADED, "rsockets": RSOCKETS}
"""Checks of transports' libraries where commands run, which is in the image if hosts have one."""

HOST_QUESTIONS = {
    "boot_id": "cat /proc/sys/kernel/random/boot_id",
    "addresses": "ip -json address show",
    "congestion_control": "cat /proc/sys/net/ipv4/tcp_congestion_control",
}
"""Properties of a host that are needed before it can be used."""

LINK = {
    "addresses": "ip -json address show",
    "speed": 'cat "/sys/class/net/$1/speed"',
    "route": 'ip route get "$2"',
}
"""Checks whether a host is on a fabric. $1: the interface; $2: the address of another host on it."""

LINK_NOW = {
    "shaper": 'tc qdisc show dev "$1"; tc class show dev "$1"',
    "speed": 'cat "/sys/class/net/$1/speed"',
    "device": 'ip -json link show dev "$1"',
    "offloads": 'ethtool -k "$1"',
}
"""Current state of an interface $1. If a shaper slows it down, `shaper` contains its rate. The speed that virtual
devices (veth, bridges, tunnels) report is meaningless."""

SITE_QUESTIONS = {
    "addresses": PREFLIGHT["addresses"],
    "speeds": PREFLIGHT["speeds"],
    "drivers": """for path in /sys/class/net/*; do
        driver=$(readlink "$path/device/driver") && echo "${path##*/} ${driver##*/}"
    done""",
    "default": "ip -4 route show default",
    "rdma": "ls /sys/class/infiniband",
    "memory": PREFLIGHT["memory"],
    "processors": PREFLIGHT["processors"],
    "machine": "cat /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name",
    "virtual": "grep -m 1 -ow hypervisor /proc/cpuinfo",
    "disks": ABOUT["disks"],
    "folders": _DRIVE
    + """
    user=$(id -un)
    while read -r device mount kind _; do
        case $device in /dev/*) ;; *) [ "$kind" = zfs ] || continue ;; esac
        for folder in "$mount" "${mount%/}/$user"; do
            [ -d "$folder" ] && [ -w "$folder" ] || continue
            echo "$(df -Pk "$folder" | awk 'NR == 2 { print $4 }') $device $(drive "$folder") $folder"
        done
    done < /proc/self/mounts""",
    "fallback": "[ -w /var/tmp ] && df -Pk /var/tmp | awk 'NR == 2 { print $4 }'",
    "java": SOFTWARE["java"],
    "apptainer": IMAGE_QUESTIONS["apptainer"],
    "missing": SOFTWARE["programs"],
}
"""Questions for the file of a new testbed; nothing is written. $1: the java command.

`folders`: writable folders on local drives (a mount point, or the folder in it that has the user's name): free KiB,
device, drive, path. `fallback`: free KiB in /var/tmp."""

JARS_SCRIPT = """
if [ -d "$1/share/hadoop" ]; then cd "$1/share/hadoop"; else cd "$1"; fi || exit 1
pwd
find -L . -name '*.jar' ! -name '*-sources.jar' ! -name '*-javadoc.jar' -print
"""
"""List the jars of a Hadoop installation $1 (a HADOOP_HOME, or a folder of jars): a folder, then paths below it."""

UNPACK = """
mkdir -p "${1%/*}" || exit 1
part=$3/part.$$
if ! { mkdir "$part" && tar -x -f - -C "$part" && [ "$(find "$part" -type f | wc -l)" -eq "$2" ]; }; then
    rm -rf -- "$part"
    exit 1
fi
mv -T -- "$part" "$1" 2>/dev/null || ( cd "$part" && find . -type f | while read -r file; do
    mkdir -p "$1/${file%/*}" && mv -f -- "$file" "$1/$file" || exit 1
done )
result=$?
rm -rf -- "$part"
exit $result
"""
"""Unpack a tar archive of $2 files from standard input to the folder $1, completely or not at all, even if two do it
concurrently. The files are counted, because tar does not notice that an archive ends between two files. Of a folder
that is there, each file is replaced in one step, so what runs from it misses none. $3: the run's folder, on the same
file system, whose removal also removes a partial copy if this is killed."""

RECEIVE = (
    """
printf '\\n@@ready\\n'
if [ -f "$1" ]; then echo there; exit; fi
mkdir -p "${1%/*}" && echo send || exit 1
part=$1.part.$$
trap 'rm -f -- "$part"' EXIT
"""
    + f"trap 'exit 1' {SIGNALS}"
    + """
cat > "$part" && [ "$(wc -c < "$part")" -eq "$2" ] && mv -- "$part" "$1"
"""
)
"""Write $2 bytes from standard input to the file $1, completely or not at all, unless it exists already.

A signal that a scheduler sends before the end of a job removes what was written."""

SECTION = "@@whitewire "

BEGIN, _STATUS = b"@@begin\n", re.compile(rb"\n@@status (\d+)\n")


def marked(mark: str) -> str:
    """The marker, for SWEEP, of commands whose mark begins with `mark`: a basic regular expression."""
    return f"{MARKER}={mark.replace('.', '[.]')}"


def script(text: str, *arguments: str) -> list[str]:
    """The command that runs a script; `arguments`: its $1, $2, …"""
    return ["sh", "-c", text, "whitewire", *arguments]


def section(name: str) -> str:
    """The command that begins an answer on a new line, even if the output before it does not end with one."""
    return f"printf '\\n{SECTION}{name}\\n'"


def asking(parts: Mapping[str, str]) -> str:
    """A script that answers several questions (name → sh), each answer under a line with its name; see answers()."""
    return "\n".join(f"{section(name)}\n{{ {command}\n}} 2>/dev/null" for name, command in parts.items())


def answers(said: str) -> dict[str, str]:
    """Answers to asking(): name → text, stripped. Output before the first name is under ``""``."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in said.splitlines():
        if line.startswith(SECTION):
            name = line.removeprefix(SECTION).strip()
            found[name] = []
        else:
            found[name].append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def environment(argv: Sequence[str], variables: Mapping[str, str], path: str, marker: str = "") -> str:
    """The sh command that runs `argv` with only PATH, LC_ALL and `variables`. `marker`: the value of MARKER, if any."""
    given = {"PATH": path, "LC_ALL": "C.UTF-8", **({MARKER: marker} if marker else {}), **variables}
    return shlex.join(["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in given.items()), *map(str, argv)])


def to_its_end(command: str, folder: str) -> str:
    """The sh text that runs a command in a folder, marks the start of its output, and prints its exit status on stderr.

    This separates its output from that of the carrying command, start files and prologs, and the status arrives
    regardless of the carrying command.
    """
    begin = "echo @@begin; echo @@begin >&2"
    return f"cd {shlex.quote(folder)} && {{ {begin}; {command}; printf '\\n@@status %d\\n' $? >&2; }}"


def output(stdout: bytes) -> bytes:
    """Standard output of a command run by to_its_end()."""
    return stdout.partition(BEGIN)[2]


def status(stderr: bytes) -> tuple[int | None, bytes]:
    """(exit status, standard error) of a command run by to_its_end(); the status is None if its end did not arrive."""
    before, begun, said = stderr.partition(BEGIN)
    found = list(_STATUS.finditer(said))
    if not begun or not found:
        return None, stderr
    return int(found[-1][1]), said[: found[-1].start()]


def as_daemon(command: str, folder: str, pid_file: str) -> str:
    """The sh text that replaces the shell by a command in a folder, and writes its PID to `pid_file`."""
    return f"cd {shlex.quote(folder)} && echo $$ > {shlex.quote(pid_file)} && exec {command}"
