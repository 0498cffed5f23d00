#!/bin/bash
# Build a Debian package, a virtual environment in /opt/armillary: make_deb.sh OUTPUT-DIR [VERSION]
# It is for the Debian release that builds it, as it uses that release's python3.
set -euo pipefail

cd "$(dirname "$0")/.."
output=$(realpath "$1")
python=/usr/bin/python3
version=${2:-$("$python" -c 'import configparser as c; p = c.ConfigParser(); p.read("setup.cfg"); print(p["metadata"]["version"])')}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/root
home=$root/opt/armillary

git archive --format=tar HEAD | tar -x --one-top-level="$folder/source"
"$python" -m venv "$home"
"$home/bin/python" -m pip -qq --disable-pip-version-check install -c constraints.txt "$folder/source[wsgi]"
"$home/bin/python" -W ignore tools/man_pages.py "$home/bin" "$root/usr/share/man/man8" "$version"
"$home/bin/python" -m pip -qq --disable-pip-version-check uninstall -y pip setuptools
grep -rlIZ "$home" "$home/bin" "$home/pyvenv.cfg" | xargs -0 -r sed -i "s|$home|/opt/armillary|g"
find "$home" -name __pycache__ -prune -exec rm -rf {} +

install -d "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/usr/share/doc"
install -m 0644 etc/systemd/*.service "$root/usr/lib/systemd/system"
install -m 0644 etc/systemd/armillary.sysusers.conf "$root/usr/lib/sysusers.d/armillary.conf"
install -D -m 0644 etc/systemd/armillary.tmpfiles.conf "$root/usr/lib/tmpfiles.d/armillary.conf"
for program in "$home"/bin/armillary*; do ln -s "/opt/armillary/bin/${program##*/}" "$root/usr/bin/"; done
cp -r "$home/share/doc/armillary" "$root/usr/share/doc/armillary"
install -m 0644 LICENSE "$root/usr/share/doc/armillary/copyright"

minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
    -e "s/@PYTHON@/3.$minor/" -e "s/@NEXT_PYTHON@/3.$((minor + 1))/" etc/debian/control >"$root/DEBIAN/control"
install -m 0755 etc/debian/postinst etc/debian/prerm etc/debian/postrm "$root/DEBIAN"
chmod -R u+rwX,go+rX,go-w "$root"
dpkg-deb --root-owner-group -Zgzip --build "$root" "$output"
