//go:build !js

// Package chromium finds the browser that tests and benchmarks use, and runs tests of
// packages in it: those that are compiled for GOOS=js, under wasmbrowsertest (tools/wasm/exec).
// Whole pages are driven by e2e/browsertest, which is in the module of e2e because of what it
// depends on. Only tests and benchmarks may import this package.
package chromium

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// ErrNoBrowser is wrapped by the error of Find when no Chromium is installed.
var ErrNoBrowser = errors.New("no Chromium found")

// pathVars name the environment variables that choose the browser program.
var pathVars = []string{"AGENTRUNTIME_CHROME", "CHROME"}

// programs are the usual names and paths of a Chromium, the most specific first.
var programs = []string{
	"chromium",
	"chromium-browser",
	"google-chrome",
	"google-chrome-stable",
	"chrome",
	"headless-shell",
	"headless_shell",
	"microsoft-edge",
	"/snap/bin/chromium",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Find returns the path of a Chromium program: the value of the environment variable
// AGENTRUNTIME_CHROME or CHROME, else the first usual name on PATH. The error wraps
// ErrNoBrowser and explains how to install one.
func Find() (string, error) {
	for _, name := range pathVars {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		path, err := exec.LookPath(value)
		if err != nil {
			return "", fmt.Errorf("%w: %s names a program that cannot run: %w", ErrNoBrowser, name, err)
		}
		return path, nil
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: none of %s is on PATH. Install one (Debian, Ubuntu: apt-get install chromium; "+
		"Fedora: dnf install chromium; macOS: brew install --cask chromium) or set %s to its path",
		ErrNoBrowser, strings.Join(programs[:5], ", "), pathVars[0])
}
