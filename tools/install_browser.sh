#!/bin/sh
# Installs Debian's Chromium for the tests of the pages; without it they are skipped.
command -v chromium > /dev/null && exit 0
if command -v apt-get > /dev/null; then
    root=""
    [ "$(id -u)" = 0 ] || root="sudo -n"
    $root apt-get update -qq
    $root apt-get install --yes --no-install-recommends chromium > /dev/null || echo "No Chromium: the tests of the pages are skipped." >&2
else
    echo "No Chromium: the tests of the pages are skipped." >&2
fi
exit 0
