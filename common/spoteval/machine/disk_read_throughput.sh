#!/usr/bin/env bash
# How fast the disk gives a file that is not in memory: one stream, then several, with O_DIRECT, so that the
# page cache neither helps nor flatters. Reads only. Needs bash and GNU coreutils.
#
#     disk_read_throughput.sh [-n STREAMS] [-m MEGABYTES] FILE...
#
# FILE... are the shards of the real checkpoint. Each line: streams=1 bytes=… seconds=… gb_per_s=…
set -euo pipefail
export LC_ALL=C

readonly block=$((4 * 1024 * 1024)) # a multiple of every sector size, and what loaders read at once
streams=8
most_mb=8192 # a run per number of streams reads no more than this

fail() {
    printf 'disk_read_throughput.sh: %s\n' "$1" >&2
    exit "${2:-2}"
}

usage() {
    sed -n '2,7s/^# \{0,1\}//p' "$0"
}

# whole NAME VALUE: refuses what is no whole number from 1
whole() {
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || fail "$1 \"$2\" must be a whole number from 1"
}

while getopts ':n:m:h' option; do
    case $option in
    n) streams=$OPTARG ;;
    m) most_mb=$OPTARG ;;
    h) usage && exit 0 ;;
    *) fail "-$OPTARG: unknown option or no value (allowed: -n STREAMS, -m MEGABYTES, -h)" ;;
    esac
done
shift $((OPTIND - 1))
whole -n "$streams"
whole -m "$most_mb"
(($#)) || fail 'name a file, such as a shard of the checkpoint (-h)'

declare -a files=("$@") first=() # first[i]: number of the first block of file i
blocks=0
for file in "${files[@]}"; do
    [[ -f $file && -r $file ]] || fail "\"$file\": no file that can be read"
    first+=("$blocks")
    blocks=$((blocks + ($(stat -L -c %s -- "$file") + block - 1) / block))
done
((blocks)) || fail 'the files are empty'
((blocks * block / 1000000 > most_mb)) && blocks=$(((most_mb * 1000000 + block - 1) / block))

# span FROM TO: read these blocks of all files as if they were one; prints the bytes that came
span() {
    local from=$1 to=$2 i start end own
    for i in "${!files[@]}"; do
        own=$((($(stat -L -c %s -- "${files[i]}") + block - 1) / block))
        start=$((from > first[i] ? from : first[i]))
        end=$((to < first[i] + own ? to : first[i] + own))
        ((start < end)) || continue
        dd if="${files[i]}" iflag=direct bs=$block skip=$((start - first[i])) count=$((end - start)) \
            status=none | wc -c
    done
}

# measure STREAMS: as many readers side by side, each with its own stretch
measure() {
    local n=$1 i begun ended sizes
    local -a readers=()
    sizes=$(mktemp)
    begun=$(date +%s%N)
    for ((i = 0; i < n; i++)); do
        span $((blocks * i / n)) $((blocks * (i + 1) / n)) >>"$sizes" &
        readers+=("$!")
    done
    for i in "${readers[@]}"; do
        wait "$i" || { rm -f "$sizes"; fail 'a read failed (no O_DIRECT on this file system?)' 1; }
    done
    ended=$(date +%s%N)
    report "$n" "$(paste -sd+ "$sizes")" $((ended - begun))
    rm -f "$sizes"
}

# report STREAMS SUM NANOSECONDS: thousandths by whole numbers, since bash has no others
report() {
    local bytes=$(($2)) ns=$(($3 > 0 ? $3 : 1)) thousandths
    thousandths=$((bytes * 1000 / ns)) # bytes per nanosecond are GB per second
    printf 'streams=%d bytes=%d seconds=%d.%03d gb_per_s=%d.%03d\n' "$1" "$bytes" \
        $((ns / 1000000000)) $((ns / 1000000 % 1000)) $((thousandths / 1000)) $((thousandths % 1000))
}

measure 1
((streams == 1)) || measure "$streams"
