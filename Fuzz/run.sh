#!/bin/sh
# Fuzz/run.sh TARGET SECONDS: fuzzes batch, configuration, framing, idl, json or token; finds go to .build/fuzz/TARGET, new inputs to its corpus there.
set -eu
cd "$(dirname "$0")/.."
target=$1
seconds=$2
varlink=Sources/Varlink
case $target in
json) sources="Fuzz/FuzzJSON.swift" ;;
framing) sources="Fuzz/FuzzFraming.swift $varlink/Messages/*Message*.swift $varlink/Messages/VarlinkError.swift" ;;
token) sources="Fuzz/FuzzToken.swift Sources/SyncCore/History/Token.swift Sources/SyncCore/Identity/*.swift
    Sources/SyncCore/Values/*.swift Sources/SyncCore/Schema/SQLName.swift" ;;
configuration) # Yams comes from a debug build of the package; of the other modules a few files are needed
    mkdir -p .build/fuzz/configuration/sources
    for file in Sources/syncd/Configuration/*.swift; do
        sed -e '/^import SyncClient$/d' -e '/^import SyncCore$/d' "$file" > ".build/fuzz/configuration/sources/${file##*/}"
    done
    sources="Fuzz/FuzzConfiguration.swift .build/fuzz/configuration/sources/*.swift"
    sources="$sources Sources/SyncClient/Connecting/SocketPath.swift Sources/syncd/Replication/ReplicationOptions.swift"
    sources="$sources Sources/SyncCore/History/HistoryLimits.swift"
    objects=$(find .build/debug/Yams.build .build/debug/CYaml.build .build/debug/Logging.build -name '*.o')
    sources="$sources $objects -I .build/debug/Modules"
    sources="$sources -Xcc -fmodule-map-file=.build/checkouts/Yams/Sources/CYaml/include/module.modulemap"
    ;;
idl) sources="Fuzz/FuzzIDL.swift $varlink/IDL/*.swift" ;;
batch) # hashes come from swift-crypto: needs a debug build of the package
    sources="Fuzz/FuzzBatch.swift Sources/SyncCore/Values/*.swift Sources/SyncCore/Identity/Identifier.swift"
    sources="$sources $(find Sources/SyncCore/Merge Sources/SyncCore/Batch -name '*.swift')"
    crypto=$(find .build/debug/Crypto.build .build/debug/CryptoBoringWrapper.build \
        .build/debug/CCryptoBoringSSL*.build .build/debug/CXKCP*.build -name '*.o')
    sources="$sources $crypto -I .build/debug/Modules -I Sources/CZstd -lzstd"
    ;;
*)
    echo "no target $target: batch, configuration, framing, idl, json or token" >&2
    exit 64
    ;;
esac
case $target in json | framing | idl) sources="$sources $varlink/JSON/*.swift" ;; esac
out=.build/fuzz/$target
mkdir -p "$out/corpus"
# shellcheck disable=SC2086 # the list of sources is meant to be split
swiftc -O -parse-as-library -swift-version 6 -sanitize=fuzzer,address -module-name Fuzz -package-name syncd \
    $sources -o "$out/fuzz" > "$out/build.log" 2>&1 || { cat "$out/build.log" >&2; exit 1; }
# To a file, not a pipe: a crash writes through the symbolizer, which may hang a pipe.
status=0
"$out/fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$out/" "$out/corpus" "Fuzz/corpus/$target" > "$out/log" 2>&1 || status=$?
tail -n 3 "$out/log"
exit $status
