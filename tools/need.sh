#!/bin/sh
# Installs missing programs that `make run`, `make test` and `make verify` need, or prints
# what to do where it can't.
#
#   tools/need.sh node      Node.js with npm, for the package (required)
#   tools/need.sh browser   a Chromium for the tests (required)
#   tools/need.sh firefox   Firefox, for `make verify` (required)
#   tools/need.sh webkit    WebKitGTK with its driver and a display without a screen,
#                           for `make verify` (optional: its tests are skipped without it)
#   tools/need.sh voice     espeak-ng for the local service (optional: the service
#                           has a small voice of its own)
set -eu

# The oldest version of Node.js that the package is built and tested with.
node_version=20.19

# The programs that internal/chromium looks for.
browsers="chromium chromium-browser google-chrome google-chrome-stable chrome headless-shell headless_shell
microsoft-edge /snap/bin/chromium"

# have NAME... succeeds when one of the programs is on the PATH.
have() {
	for name in "$@"; do
		if command -v "$name" >/dev/null 2>&1; then return 0; fi
	done
	return 1
}

# debian PACKAGE installs it on Debian and its derivatives, as root or with sudo.
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
node)
	if have node && have npm && printf '%s\n' "$node_version" "$(node -p process.versions.node)" | sort -CV; then exit 0; fi
	echo "Node.js $node_version or later with npm is needed: https://nodejs.org" >&2
	exit 1
	;;
browser)
	if [ -n "${AGENTRUNTIME_CHROME:-}${CHROME:-}" ] || have $browsers; then exit 0; fi
	if have "/Applications/Chromium.app/Contents/MacOS/Chromium" "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; then exit 0; fi
	if debian chromium; then exit 0; fi
	echo "The tests need Chromium or Google Chrome: install one, or set AGENTRUNTIME_CHROME to its path." >&2
	exit 1
	;;
firefox)
	if have firefox-esr firefox || debian firefox-esr; then exit 0; fi
	echo "The tests need Firefox: install it." >&2
	exit 1
	;;
webkit)
	if have WebKitWebDriver && have Xvfb; then exit 0; fi
	if debian webkit2gtk-driver && debian xvfb; then exit 0; fi
	echo "WebKitGTK's driver or Xvfb is not installed: nothing is tested in WebKitGTK." >&2
	;;
voice)
	if have espeak-ng; then exit 0; fi
	if debian espeak-ng; then exit 0; fi
	echo "espeak-ng is not installed: the avatar speaks with the small built-in voice." >&2
	;;
*)
	echo "usage: tools/need.sh node|browser|firefox|webkit|voice" >&2
	exit 2
	;;
esac
