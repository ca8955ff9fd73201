#!/usr/bin/env bash
# What a measurement needs and conda-forge lacks: `ip` and `tc` (iproute2) and `ethtool`, built from their released
# sources with the environment's own compiler into the environment. Snakemake runs this once, after it made the
# environment; by hand: `bash envs/measure.post-deploy.sh` in the activated environment.
#
# Tarballs are fetched from kernel.org, or taken from the folder WHITEWIRE_SOURCES where there is no way out.
set -euo pipefail
unset MAKEFLAGS MAKEFILES # of the `make` that may have started this

releases="
utils/net/iproute2/iproute2-6.1.0.tar.xz 5ce12a0fec6b212725ef218735941b2dab76244db7e72646a76021b0537b43ab
software/network/ethtool/ethtool-6.1.tar.xz c41fc881ffa5a40432d2dd829eb44c64a49dee482e716baacf9262c64daa8f90
"

prefix=${CONDA_PREFIX:?expected an activated conda environment}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# unpacked PATH SHA256: fetches one release, checks it and prints the folder that it unpacks to
unpacked() {
    file=$work/$(basename "$1")
    if [ -n "${WHITEWIRE_SOURCES:-}" ]; then
        cp "$WHITEWIRE_SOURCES/$(basename "$1")" "$file"
    else
        curl --fail --silent --show-error --location --retry 3 --output "$file" \
            "https://www.kernel.org/pub/${1/#utils/linux/utils}"
    fi
    if [ "$(sha256sum "$file" | cut -d ' ' -f 1)" != "$2" ]; then
        echo "$(basename "$1"): the checksum is not $2" >&2
        return 1
    fi
    python3 -m tarfile --extract "$file" "$work" >&2
    printf '%s\n' "$work/$(basename "$1" .tar.xz)"
}

while read -r path sum; do
    [ -n "$path" ] || continue
    folder=$(unpacked "$path" "$sum")
    case $path in
    */iproute2-*)
        # Without optional libraries: nothing here needs them, and the host's would not be in the environment.
        (cd "$folder" && CC=${CC:-gcc} PKG_CONFIG=false ./configure >&2)
        make -C "$folder" -s -j "$(nproc)" SUBDIRS='lib ip tc' CC="${CC:-gcc}" >&2
        install -D -t "$prefix/bin" "$folder/ip/ip" "$folder/tc/tc"
        ;;
    */ethtool-*)
        (cd "$folder" && ./configure --quiet --prefix="$prefix" --disable-netlink --disable-pretty-dump >&2)
        make -C "$folder" -s -j "$(nproc)" >&2
        install -D -t "$prefix/bin" "$folder/ethtool"
        ;;
    esac
done <<<"$releases"

"$prefix/bin/ip" -V >&2
"$prefix/bin/tc" -V >&2
"$prefix/bin/ethtool" --version >&2
