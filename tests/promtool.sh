#!/usr/bin/env bash
# The tests of the alert rules want Prometheus' promtool: Debian's own goes to build/ where we may, else it is asked for. The package
# is not installed, as that would start a Prometheus. Without promtool these tests are skipped, aloud.
set -euo pipefail
if command -v promtool >/dev/null || [ -x build/promtool ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "unpacking Debian's promtool for the tests of the alert rules"
  unpacked="$(mktemp -d)"
  trap 'rm -rf "$unpacked"' EXIT
  apt-get update -qq
  (cd "$unpacked" && apt-get download -qq -o APT::Sandbox::User=root prometheus && dpkg-deb -x prometheus_*.deb .)
  install -D "$unpacked/usr/bin/promtool" build/promtool
else
  echo "the tests of the alert rules will be skipped: they need promtool, on the PATH or in build/ (Debian: package prometheus)" >&2
fi
