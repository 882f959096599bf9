#!/bin/sh
# Fuzz/run.sh TARGET SECONDS: fuzzes batch, json, framing or idl; finds go to .build/fuzz/TARGET, new inputs to its corpus there.
set -eu
cd "$(dirname "$0")/.."
target=$1
seconds=$2
varlink=Sources/Varlink
case $target in
json) sources="Fuzz/FuzzJSON.swift" ;;
framing) sources="Fuzz/FuzzFraming.swift $varlink/Messages/*Message*.swift $varlink/Messages/VarlinkError.swift" ;;
idl) sources="Fuzz/FuzzIDL.swift $varlink/IDL/*.swift" ;;
batch) # hashes come from swift-crypto: needs a debug build of the package
    sources="Fuzz/FuzzBatch.swift Sources/SyncCore/Values/*.swift Sources/SyncCore/Identity/Identifier.swift"
    sources="$sources $(find Sources/SyncCore/Merge Sources/SyncCore/Batch -name '*.swift')"
    crypto=$(find .build/debug/Crypto.build .build/debug/CryptoBoringWrapper.build \
        .build/debug/CCryptoBoringSSL*.build .build/debug/CXKCP*.build -name '*.o')
    sources="$sources $crypto -package-name syncd -I .build/debug/Modules -I Sources/CZstd -lzstd"
    ;;
*)
    echo "no target $target: batch, json, framing or idl" >&2
    exit 64
    ;;
esac
[ "$target" = batch ] || sources="$sources $varlink/JSON/*.swift"
out=.build/fuzz/$target
mkdir -p "$out/corpus"
# shellcheck disable=SC2086 # the list of sources is meant to be split
swiftc -O -parse-as-library -swift-version 6 -sanitize=fuzzer,address -module-name Fuzz \
    $sources -o "$out/fuzz" > "$out/build.log" 2>&1 || { cat "$out/build.log" >&2; exit 1; }
# To a file, not a pipe: a crash writes through the symbolizer, which may hang a pipe.
status=0
"$out/fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$out/" "$out/corpus" "Fuzz/corpus/$target" > "$out/log" 2>&1 || status=$?
tail -n 3 "$out/log"
exit $status
