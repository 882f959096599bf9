#!/bin/sh
# Fuzz/run.sh TARGET SECONDS: fuzzes a target (the names: Tests/FuzzTests/Support/FuzzTarget.swift), or all of them.
# Inputs that reach something new go to .build-fuzz/TARGET/corpus, a finding to .build-fuzz/TARGET/crash-…
# Fuzz/run.sh --minimise TARGET: replaces Fuzz/corpus/TARGET by the smallest inputs that reach the same.
# Fuzz/run.sh --once TARGET FILE…: runs inputs.
#
# The targets are those of the package, and the fuzzer sees all of it: it is built once more, in .build-fuzz, with the
# fuzzer's instrumentation. Its objects are linked here: a fuzzed program has the main function of libFuzzer. (The
# programs of the package are linked on the way, and cannot run: they have none of the functions that libFuzzer calls.)
set -eu
cd "$(dirname "$0")/.."
mode=fuzz
case ${1:-} in --minimise | --once) mode=${1#--} && shift ;; esac
target=${1:?a target, or all}
seconds=${2:-60}
[ "$mode" = once ] && shift
scratch=.build-fuzz

build() {
    [ -d $scratch/checkouts ] || { mkdir -p $scratch && cp -r .build/checkouts .build/repositories .build/workspace-state.json $scratch/; }
    SYNCD_TESTS=FuzzTests swift build -c release --ignore-lock --scratch-path $scratch --target FuzzTests \
        -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing -Xswiftc -use-ld=lld \
        -Xlinker -z -Xlinker muldefs -Xlinker --unresolved-symbols=ignore-all > $scratch/build.log 2>&1 ||
        { grep -E 'error' $scratch/build.log >&2; exit 1; }
    find $scratch/release/ -path '*.build/*' -name '*.o' -printf '"%p"\n' |
        grep -vE 'Certification|todo\.build|objectstress|syncsim' > $scratch/objects
    swiftc -use-ld=lld -sanitize=fuzzer -parse-as-library @$scratch/objects -lsqlite3 -lzstd -lsystemd -lTesting \
        -o $scratch/fuzz 2> $scratch/link.log ||
        { tail -n 5 $scratch/link.log >&2; exit 1; }
}

[ -n "${SYNCD_FUZZ_BUILT:-}" ] || build
if [ "$target" = all ]; then
    status=0
    for name in $(sed -n 's/.*FuzzTarget(name: "\([a-z]*\)".*/\1/p' Tests/FuzzTests/Support/FuzzTarget.swift); do
        SYNCD_FUZZ_BUILT=1 "$0" "$name" "$seconds" || status=1
    done
    exit $status
fi
bytes=$(sed -n "s/.*FuzzTarget(name: \"$target\", bytesMax: \([0-9]*\),.*/\1/p" Tests/FuzzTests/Support/FuzzTarget.swift)
[ -n "$bytes" ] || { echo "no target $target" >&2; exit 64; }
out=$scratch/$target
mkdir -p "$out/corpus" "Fuzz/corpus/$target"
# libFuzzer keeps the input of a trap; the report of Swift would end the program before.
export SYNCD_FUZZ="$target" SWIFT_BACKTRACE=enable=no
case $mode in
once) exec $scratch/fuzz -timeout=30 "$@" ;;
minimise)
    rm -rf "$out/least" && mkdir -p "$out/least"
    $scratch/fuzz -merge=1 -max_len="$bytes" -rss_limit_mb=2048 "$out/least" "Fuzz/corpus/$target" "$out/corpus" > "$out/log" 2>&1
    find "Fuzz/corpus/$target" -type f ! -name 'found-*' -delete
    # The smallest ones, as far as the repository is to have them.
    find "$out/least" -type f -printf '%s %p\n' | sort -n | head -n 120 | cut -d' ' -f2 | xargs -r -I{} cp {} "Fuzz/corpus/$target/"
    echo "$target: $(find "Fuzz/corpus/$target" -type f | wc -l) inputs of $(find "$out/least" -type f | wc -l)"
    exit 0
    ;;
esac
# To a file, not a pipe: a crash writes through the symbolizer, which may hang a pipe.
status=0
$scratch/fuzz -max_total_time="$seconds" -max_len="$bytes" -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$out/" "$out/corpus" "Fuzz/corpus/$target" > "$out/log" 2>&1 || status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/log" | tail -n 1)
cover=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$out/log" | tail -n 1 | sed 's/cov: \([0-9]*\) ft: \([0-9]*\)/\1 edges, \2 features/')
echo "$target: ${runs:-0} executions, ${cover:-no coverage}, $([ $status = 0 ] && echo no finding || echo "FINDING: $(grep -E 'finding:|Fatal error|ERROR: libFuzzer' "$out/log" | head -n 1)")"
exit $status
