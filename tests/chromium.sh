#!/usr/bin/env bash
# The browser tests want a Chromium: Debian's own is installed where we may, else asked for. Without it they are skipped, aloud.
set -euo pipefail
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing Debian's chromium for the browser tests"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
else
  echo "the browser tests will be skipped: they need chromium (Debian: sudo apt-get install chromium)" >&2
fi
