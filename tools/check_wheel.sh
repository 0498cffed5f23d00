#!/bin/bash
# Build sdist and wheel, install away from the tree, run the demo and all services from there: check_wheel.sh VENV
# The wheel is built from the sdist, and both are compared with the tree. The libraries are those of VENV, so nothing but the wheel has to be installed.
set -euo pipefail

cd "$(dirname "$0")/.."
tools=$PWD/tools
python=$(realpath "$1")/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git archive --format=tar HEAD | tar -x --one-top-level="$folder/source"
"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip -qq --disable-pip-version-check install 'setuptools>=77'
(cd "$folder/source" && cp -r . ../tree && "$folder/venv/bin/python" -W ignore -c \
    'import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])' "$folder" >/dev/null 2>&1)
"$folder/venv/bin/python" -m pip -qq --disable-pip-version-check wheel --no-deps --no-build-isolation \
    --wheel-dir "$folder" "$folder"/*.tar.gz
"$python" tools/compare_dist.py "$folder/tree" "$folder"/*.tar.gz "$folder"/*.whl
rm -r "$folder/source" "$folder/tree"
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
"$folder/venv/bin/python" -c 'from programs.operator.deploy.installed_files import installed; installed("systemd").stat()'
HOME=$folder "$folder/venv/bin/armillary" demo >"$folder/demo.log" 2>&1 || { cat "$folder/demo.log"; exit 1; }
echo "armillary demo ran from the wheel"
"$folder/venv/bin/python" "$tools/check_services.py" "$folder/venv/bin" "$folder/services"
