# shellcheck shell=bash
# What install.sh and packaging/install-host share.

fail() { # code, one line
    printf 'install.sh: %s\n' "$2" >&2
    exit "$1"
}

find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    fail 3 "no Python 3.11 or newer found (Debian 12, Ubuntu 24.04: sudo apt install python3)"
}
