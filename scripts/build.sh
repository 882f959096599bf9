#!/bin/bash
# Builds what `make install` copies, into OUT (default out/program): one program for syncd and synctool, which
# needs no library of Swift, its manual pages, and its completions.
#   PROGRAM=FILE: takes this program instead of compiling one
set -euo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
out=${OUT:-out/program}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

program=${PROGRAM:-}
if [ -z "$program" ]; then
    # No symbols for others, and relocations in the short form (glibc 2.36). What Foundation brings of ICU's data,
    # 34 MB, is replaced by the little that may be asked for.
    scripts/trim-icu.py "$work"
    mkdir -p .build
    cp "$work/icu.o" .build/icu.o
    flags=(-c release --static-swift-stdlib --disable-local-rpath -Xswiftc -use-ld=lld
        -Xlinker --gc-sections -Xlinker --no-export-dynamic -Xlinker -z -Xlinker pack-relative-relocs
        -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
        -Xlinker --wrap="$(cat "$work/icu.symbol")" -Xlinker "$PWD/.build/icu.o")
    "$swift" build "${flags[@]}" --product syncd
    program=$("$swift" build "${flags[@]}" --show-bin-path)/syncd
fi

rm -rf "$out"
mkdir -p "$out/completions"
strip --strip-all -o "$out/syncd" "$program"
chmod 755 "$out/syncd"
ln -s syncd "$out/synctool"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)} \
    scripts/manual.py "$out" "$out/man"
for program in syncd synctool; do
    for shell in bash zsh fish; do
        # Completions are read by a shell, never run: without a first line that names one.
        "$out/$program" --generate-completion-script $shell | sed '1{/^#!/d}' >"$out/completions/$program.$shell"
    done
done
echo "built: $out ($(du -sh "$out/syncd" | cut -f1)). To install: sudo make install, or make install PREFIX=\$HOME/.local"
