#!/bin/sh
# Installs what `make run` and `make test` lack, where it can; says what to do
# where it can't.
#
#   tools/need.sh browser   a Chromium for the tests (required)
#   tools/need.sh voice     espeak-ng for the local service (it has a small
#                           voice of its own, so this one is only wished for)
set -eu

# have NAME... succeeds when one of the programs is on the PATH.
have() {
	for name in "$@"; do
		if command -v "$name" >/dev/null 2>&1; then return 0; fi
	done
	return 1
}

# debian PACKAGE installs it on Debian and its kin, as root or by sudo.
debian() {
	have apt-get || return 1
	as=
	if [ "$(id -u)" != 0 ]; then
		have sudo && sudo -n true 2>/dev/null || return 1
		as=sudo
	fi
	echo "installing $1 ..." >&2
	$as apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as apt-get install -y -qq --no-install-recommends "$1" >&2
}

case "${1:-}" in
browser)
	if [ -n "${AGENTRUNTIME_CHROME:-}" ] || have chromium chromium-browser google-chrome google-chrome-stable chrome; then exit 0; fi
	if debian chromium; then exit 0; fi
	echo "The tests need Chromium or Google Chrome: install one, or set AGENTRUNTIME_CHROME to its path." >&2
	exit 1
	;;
voice)
	if have espeak-ng; then exit 0; fi
	if debian espeak-ng; then exit 0; fi
	echo "espeak-ng is not installed: the avatar speaks with the small built-in voice." >&2
	;;
*)
	echo "usage: tools/need.sh browser|voice" >&2
	exit 2
	;;
esac
