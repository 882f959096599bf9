#!/bin/bash
# Copies what `make build` made to where it belongs. Compiles nothing, and installs no packages.
#   PREFIX (default /usr/local); DESTDIR: a staging folder; OUT: what `make build` made
#   UNITDIR, USERUNITDIR, ZSHDIR: the folders of systemd's units and of completions for zsh, where PREFIX
#   does not lead to them. WITHOUT_LICENSE, WITHOUT_MANIFEST: for packages, which have their own.
# Below a home directory only what one user can use is installed: the user's units, in share/systemd/user,
# where systemd looks for them when PREFIX is ~/.local.
# What was written is listed in PREFIX/share/syncd/installed, by which scripts/uninstall.sh removes it.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}
out=${OUT:-out/program}

fail() { echo "install: $2" >&2; exit "$1"; }
[[ $prefix == /* ]] || fail 64 "PREFIX has to be an absolute path: $prefix"
[ -x "$out/syncd" ] || fail 66 "nothing is built in $out. Run first, as yourself: make build"

personal=
case $prefix/ in "${HOME:-/nonexistent}"/*) personal=1 ;; esac
if [ -n "$personal" ]; then
    system_units=
    user_units=${USERUNITDIR:-$prefix/share/systemd/user}
else
    system_units=${UNITDIR:-$prefix/lib/systemd/system}
    user_units=${USERUNITDIR:-$prefix/lib/systemd/user}
fi

[ -z "$root" ] || mkdir -p "$root"
manifest=$prefix/share/syncd/installed
written=$(mktemp)
trap 'rm -f "$written"' EXIT

folder() { # with those above it; each one that is made is noted
    local parent
    [ ! -d "$root$1" ] || return 0
    parent=$(dirname "$1")
    [ "$parent" = / ] || folder "$parent"
    mkdir -m 755 "$root$1" 2>/dev/null || fail 77 \
        "$root$1 cannot be made. Run it as root, or with PREFIX=\$HOME/.local"
    echo "folder $1" >>"$written"
}

put() { # put MODE SOURCE DESTINATION
    folder "$(dirname "$3")"
    [ -w "$root$(dirname "$3")" ] || fail 77 \
        "$root$(dirname "$3") cannot be written. Run it as root, or with PREFIX=\$HOME/.local"
    # By a rename: a running program keeps its file.
    install -m "$1" "$2" "$root$3.new" || { rm -f "$root$3.new"; fail 74 "$root$3 cannot be written"; }
    mv -f "$root$3.new" "$root$3"
    echo "file $3" >>"$written"
}

# The units and manual pages name /usr: where they are installed, they name where the programs and pages are.
put_named() { # put_named SOURCE DESTINATION
    local named
    named=$(mktemp)
    sed -e "s|/usr/bin/|$prefix/bin/|g" -e "s|/usr/share/|$prefix/share/|g" "$1" >"$named"
    put 644 "$named" "$2"
    rm -f "$named"
}

put 755 "$out/syncd" "$prefix/bin/syncd"
ln -sf syncd "$root$prefix/bin/synctool"
echo "file $prefix/bin/synctool" >>"$written"

share=$prefix/share
for page in "$out"/man/man*/*; do
    put 644 "$page" "$share/man/$(basename "$(dirname "$page")")/$(basename "$page")"
done
for program in syncd synctool; do
    put 644 "$out/completions/$program.bash" "$share/bash-completion/completions/$program"
    put 644 "$out/completions/$program.zsh" "${ZSHDIR:-$share/zsh/site-functions}/_$program"
    put 644 "$out/completions/$program.fish" "$share/fish/vendor_completions.d/$program.fish"
done
# The pages link to these files where they are in the sources.
for page in README.md CHANGELOG.md NOTICE docs/*.md docs/*/* monitoring/* Examples/clients/*{,/*,/*/*}; do
    [ ! -f "$page" ] || put 644 "$page" "$share/doc/syncd/$page"
done
if [ -z "${WITHOUT_LICENSE:-}" ]; then put 644 LICENSE "$share/doc/syncd/LICENSE"; fi
for file in Sources/SyncClient/Interface/*.varlink; do
    [ ! -f "$file" ] || put 644 "$file" "$share/varlink/$(basename "$file")"
done

if [ -n "$system_units" ]; then
    put_named systemd/syncd.service "$system_units/syncd.service"
    put_named systemd/syncd.socket "$system_units/syncd.socket"
    put 644 systemd/syncd.sysusers "$prefix/lib/sysusers.d/syncd.conf"
    put 644 systemd/syncd.tmpfiles "$prefix/lib/tmpfiles.d/syncd.conf"
fi
put_named systemd/user-syncd.service "$user_units/syncd.service"
put_named systemd/user-syncd.socket "$user_units/syncd.socket"

if [ -n "${WITHOUT_MANIFEST:-}" ]; then exit 0; fi

# What an earlier version had and this one has not goes; folders that it made stay ours.
folder "$(dirname "$manifest")"
echo "file $manifest" >>"$written"
if [ -f "$root$manifest" ]; then
    while read -r kind path; do
        grep -qxF "$kind $path" "$written" && continue
        case $kind in
        folder) echo "folder $path" >>"$written" ;;
        file) rm -f "$root$path" ;;
        esac
    done <"$root$manifest"
fi
sort -u "$written" >"$root$manifest"
chmod 644 "$root$manifest"

echo "installed below $root$prefix; to remove it: make uninstall PREFIX=$prefix${root:+ DESTDIR=$root}"
[ -z "$root" ] || exit 0
if [ -n "$personal" ]; then
    echo "start it: systemctl --user daemon-reload && systemctl --user enable --now syncd.socket"
elif [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then
    systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload
    echo "start it: systemctl enable --now syncd.socket"
fi
