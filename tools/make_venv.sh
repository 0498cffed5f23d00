#!/bin/sh
# Make the virtual environment that every target of the Makefile works in: make_venv.sh FOLDER [PYTHON]
set -eu

folder=$1
python=${2:-}

for candidate in $python python3.11 python3 python3.12 python3.13; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        found=yes
        break
    fi
done
if [ -z "${found:-}" ]; then
    echo "Armillary needs Python 3.11 or later: install Debian's packages python3 and python3-venv." >&2
    exit 1
fi

if "$python" -m venv --clear "$folder" >/dev/null 2>&1; then
    exit 0
fi

# Debian keeps ensurepip in a package of its own.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Debian's python3-venv ..." >&2
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null
    exec "$python" -m venv --clear "$folder"
fi

# Not root: an environment without pip, filled by the pip outside of it.
if "$python" -m pip --version >/dev/null 2>&1 && "$python" -m venv --clear --without-pip "$folder"; then
    exec "$python" -m pip --quiet --python "$folder/bin/python" install pip
fi

rm -rf "$folder"
echo "No virtual environment can be made here: run 'apt-get install python3-venv' as root, then make again." >&2
exit 1
