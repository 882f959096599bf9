#!/bin/bash
# Builds syncd and synctool for release and installs them with units and completions.
# PREFIX (default /usr/local) and DESTDIR (a staging folder) as usual.
set -euo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}

flags=(-c release --static-swift-stdlib --disable-local-rpath -Xlinker --gc-sections)
"$swift" build "${flags[@]}" --product syncd
"$swift" build "${flags[@]}" --product synctool
bin=$("$swift" build "${flags[@]}" --show-bin-path)

if ! mkdir -p "$root$prefix/bin" 2>/dev/null || ! [ -w "$root$prefix/bin" ]; then
    echo "install: $root$prefix/bin cannot be written." \
        "Run it as root, or with PREFIX=\$HOME/.local" >&2
    exit 77
fi
install -s -m 755 "$bin/syncd" "$bin/synctool" "$root$prefix/bin/"

share=$root$prefix/share
tool=$bin/synctool
install -d "$share/bash-completion/completions" "$share/zsh/site-functions" \
    "$share/fish/vendor_completions.d" "$share/doc/syncd"
"$tool" --generate-completion-script bash >"$share/bash-completion/completions/synctool"
"$tool" --generate-completion-script zsh >"$share/zsh/site-functions/_synctool"
"$tool" --generate-completion-script fish >"$share/fish/vendor_completions.d/synctool.fish"
install -m 644 README.md LICENSE NOTICE docs/*.md "$share/doc/syncd/"

# The units name /usr: where they are installed, they name where the programs and pages are.
unit() {
    install -d "$root$prefix/lib/systemd/$2"
    sed -e "s|/usr/bin/|$prefix/bin/|g" -e "s|/usr/share/|$prefix/share/|g" "$1" >"$root$prefix/lib/systemd/$2/$3"
}
for file in systemd/syncd.service systemd/syncd.socket; do
    if [ -f "$file" ]; then unit "$file" system "$(basename "$file")"; fi
done
for file in systemd/user-syncd.service systemd/user-syncd.socket; do
    name=$(basename "$file")
    if [ -f "$file" ]; then unit "$file" user "${name#user-}"; fi
done
for pair in sysusers:sysusers.d tmpfiles:tmpfiles.d; do
    file=systemd/syncd.${pair%%:*}
    if [ -f "$file" ]; then
        install -d "$root$prefix/lib/${pair##*:}"
        install -m 644 "$file" "$root$prefix/lib/${pair##*:}/syncd.conf"
    fi
done
echo "installed below $root$prefix"
if [ -z "$root" ] && [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then
    systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload
    echo "start it: systemctl enable --now syncd.socket"
fi
