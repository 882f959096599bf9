#!/bin/sh
# Fuzz/run.sh TARGET SECONDS: fuzzes batch, configuration, framing, idl, json or token; findings go to .build/fuzz/TARGET, new inputs to its corpus there.
#
# A fuzzed program is one module, compiled with the fuzzer's instrumentation: the sources that a decoder
# needs are copied without the imports of the package's own modules.
set -eu
cd "$(dirname "$0")/.."
target=$1
seconds=$2
out=.build/fuzz/$target
varlink=Sources/Varlink
flags=
case $target in
json) sources="Fuzz/FuzzJSON.swift" ;;
framing) sources="Fuzz/FuzzFraming.swift $varlink/Messages/*Message*.swift $varlink/Messages/VarlinkError.swift" ;;
token) sources="Fuzz/FuzzToken.swift Sources/SyncCore/History/Token.swift Sources/SyncValues/*/*.swift
    Sources/SyncStorage/Schema/SQLName.swift" ;;
configuration) # Yams comes from a debug build of the package; of the other modules a few files are needed
    sources="Fuzz/FuzzConfiguration.swift Sources/syncd/Configuration/*.swift"
    sources="$sources Sources/SyncClient/Connecting/SocketPath.swift"
    sources="$sources Sources/SyncCore/History/HistoryLimits.swift Sources/SyncValues/*/*.swift"
    sources="$sources Sources/SyncStorage/Files/PathResolution.swift"
    sources="$sources Sources/SyncReplica/Remotes/RemoteEntry.swift"
    sources="$sources Sources/SyncRemotes/Connecting/RemoteAddress.swift Sources/SyncRemotes/SSH/SSHAddress.swift"
    flags="$(find .build/debug/Yams.build .build/debug/CYaml.build .build/debug/Logging.build -name '*.o')"
    flags="$flags -I .build/debug/Modules -Xcc -fmodule-map-file=.build/checkouts/Yams/Sources/CYaml/include/module.modulemap"
    ;;
idl) sources="Fuzz/FuzzIDL.swift $varlink/IDL/*.swift" ;;
batch) # hashes come from swift-crypto: needs a debug build of the package
    sources="Fuzz/FuzzBatch.swift Sources/SyncValues/*/*.swift"
    sources="$sources $(find Sources/SyncMerge -name '*.swift' -not -name Exports.swift)"
    flags="$(find .build/debug/Crypto.build .build/debug/CryptoBoringWrapper.build \
        .build/debug/CCryptoBoringSSL*.build .build/debug/CXKCP*.build -name '*.o')"
    flags="$flags -I .build/debug/Modules -I Sources/CZstd -I Sources/CLinux/include -lzstd"
    ;;
*)
    echo "no target $target: batch, configuration, framing, idl, json or token" >&2
    exit 64
    ;;
esac
case $target in json | framing | idl) sources="$sources $varlink/JSON/*.swift" ;; esac
rm -rf "$out/sources"
mkdir -p "$out/corpus" "$out/sources"
for file in $sources; do
    sed -E '/^(@testable )?import Sync(Values|Storage|Core|Merge|Replica|Remotes|Client)$/d' "$file" > "$out/sources/${file##*/}"
done
# shellcheck disable=SC2086 # the list of flags is meant to be split
swiftc -O -parse-as-library -swift-version 6 -sanitize=fuzzer,address -module-name Fuzz -package-name syncd \
    "$out"/sources/*.swift $flags -o "$out/fuzz" > "$out/build.log" 2>&1 || { cat "$out/build.log" >&2; exit 1; }
# To a file, not a pipe: a crash writes through the symbolizer, which may hang a pipe.
status=0
"$out/fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$out/" "$out/corpus" "Fuzz/corpus/$target" > "$out/log" 2>&1 || status=$?
tail -n 3 "$out/log"
exit $status
