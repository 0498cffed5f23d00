#!/bin/bash
# Build the wheel, install it away from the tree, and run the demo from it: check_wheel.sh VENV
# The libraries are those of VENV, so nothing but the wheel has to be installed.
set -euo pipefail

cd "$(dirname "$0")/.."
python=$(realpath "$1")/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git archive --format=tar HEAD | tar -x --one-top-level="$folder/source"
"$python" -m pip -qq --disable-pip-version-check wheel --no-deps --wheel-dir "$folder" "$folder/source"
rm -r "$folder/source"
"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip -qq --disable-pip-version-check install --no-deps "$folder"/*.whl
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libraries.pth"

cd "$folder"
unset PYTHONPATH
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import importlib.util, sys
from importlib.metadata import distribution
names = {file.parts[0] for file in distribution("armillary").files if file.suffix == ".py"}
away = [name for name in names if not importlib.util.find_spec(name).origin.startswith(sys.argv[1])]
sys.exit(f"not from the wheel: {away}" if away or "armillary" not in names else 0)
PYTHON
HOME=$folder "$folder/venv/bin/armillary" demo >"$folder/demo.log" 2>&1 || { cat "$folder/demo.log"; exit 1; }
echo "armillary demo ran from the wheel"
