#!/usr/bin/env bash
# Try spoteval, or test it, or install it on a host, from a checkout. Needs Python 3.11 or newer. To try and to
# test, everything else goes into .venv beside this file, and root is never asked for.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
venv=$here/.venv
# shellcheck source=packaging/shell.sh
. "$here/packaging/shell.sh"
# What this script has made carries this file, so that nobody else's .venv is ever removed.
mine=$venv/.made-by-install-sh
# Present while the environment is being changed: found at the next call, it is made anew.
unfinished=$venv/.unfinished
# The harness and the client its demo model talks through: pinned, so that the demo is the one
# that was tested. They belong to the environment of the demo, not to the product.
inspect=0.3.285
harness=("inspect-ai==$inspect" "openai==3.57.0")
# Somebody's own paths would bring somebody's own packages.
unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX VIRTUAL_ENV
trap 'exit 130' INT # not "pip failed" when a person stops it

usage() {
    cat <<'TEXT'
./install.sh demo [--seed N] [--json FILE] [--keep DIR]
    a real evaluation through at least three preemptions, on this machine, without a cloud
./install.sh test [PYTEST ARGUMENTS]
    sets up and passes the tests

Both work in .venv beside this file; nothing else of the machine is changed.

sudo ./install.sh guest|restarter [--deb FILE | --pipx]
    installs spoteval on this host: as a .deb where apt is, else with pipx. Enables and starts
    nothing; then: sudo spoteval setup guest|restarter
TEXT
}

# Debian and Ubuntu ship Python without ensurepip; each of these makes up for it.
plain_venv() { "$1" -c 'import ensurepip' && "$1" -m venv "$venv"; }
with_uv() { uv venv --quiet --seed --python "$1" --allow-existing "$venv"; }
with_virtualenv() { "$1" -m virtualenv --quiet "$venv"; }
with_outer_pip() {
    "$1" -m pip --version && "$1" -m venv --without-pip "$venv" &&
        "$1" -m pip --python "$venv/bin/python" install --quiet pip
}

has_pip() { "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

make_venv() {
    local python=$1 way version
    for way in plain_venv with_uv with_virtualenv with_outer_pip; do
        begin_afresh
        if "$way" "$python" >>"$venv/.log" 2>&1 && has_pip; then
            return
        fi
    done
    rm -rf -- "$venv"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    [ "$python" = "$(command -v python3)" ] && version=3
    fail 3 "this Python makes no environments: sudo apt install python$version-venv"
}

begin_afresh() {
    if [ ! -e "$mine" ] && [ -n "$(ls -A -- "$venv" 2>/dev/null)" ]; then
        fail 3 "$venv exists and is not of this script's making: move it away first"
    fi
    rm -rf -- "$venv"
    mkdir -- "$venv"
    : >"$mine"
    : >"$unfinished"
}

# A venv knows its own place by its absolute path, and its Python by a link.
usable() {
    [ -e "$mine" ] && [ ! -e "$unfinished" ] && [ "$(cat -- "$mine")" = "$here" ] &&
        "$venv/bin/python" -c '' 2>/dev/null
}

install_quietly() {
    : >"$unfinished"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        "$@" >"$venv/.log" 2>&1; then
        grep -v '^WARNING' -- "$venv/.log" | tail -n 20 >&2
        fail 1 "pip could not install what is needed (whole output: $venv/.log)"
    fi
    rm -f -- "$unfinished"
}

# set_up PURPOSE MEGABYTES EXTRAS: quick when the stamp of this purpose is that of this checkout.
set_up() {
    local purpose=$1 megabytes=$2 extras=$3 stamp wanted python
    stamp=$venv/.stamp-$purpose
    wanted=$(cat -- "$here/pyproject.toml" "$here/install.sh" | cksum)
    exec 9<"$here" # two calls at once: the second waits, then finds all done
    flock 9
    if usable && [ "$(cat -- "$stamp" 2>/dev/null)" = "$wanted" ]; then
        say_ready
    else
        say_before "$megabytes"
        SECONDS=0
        if ! usable; then
            python=$(find_python)
            make_venv "$python"
            printf '%s' "$here" >"$mine"
        fi
        install_quietly --editable "${here}[$extras]" "${harness[@]}"
        printf '%s' "$wanted" >"$stamp"
        # whoever can test can also run the demo
        [ "$purpose" = demo ] || printf '%s' "$wanted" >"$venv/.stamp-demo"
        say_after
    fi
    exec 9<&-
}

environment="environment: inspect-ai $inspect"
say_ready() { printf '%s%s in .venv: stands already\n' "$step" "$environment"; }

say_before() {
    printf '%s%s, about %s MB in .venv, one to two minutes ...\n' "$step" "$environment" "$1"
}

say_after() {
    printf '%s%s, %s MB in .venv, made in %s s\n' \
        "$step" "$environment" "$(du -sm -- "$venv" | cut -f1)" "$SECONDS"
}

step="" # what stands before the line of the set-up
case ${1-} in
demo)
    shift
    step=" 1/4 " # the first of the demo's four
    set_up demo 400 inspect
    exec "$venv/bin/spoteval" demo "$@"
    ;;
test)
    shift
    set_up test 700 test,inspect,s3truth # 150 of them an S3 service
    cd -- "$here"
    exec "$venv/bin/python" -m pytest "$@"
    ;;
guest | restarter)
    exec "$here/packaging/install-host" "$@"
    ;;
"" | -h | --help | help)
    usage
    ;;
*)
    fail 2 "\"$1\": unknown; allowed are demo, test, guest and restarter (without an argument it says what they do)"
    ;;
esac
