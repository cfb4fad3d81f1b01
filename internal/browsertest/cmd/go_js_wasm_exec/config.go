//go:build unix

package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	programPath = "/program.wasm"
	filesPath   = "/files/"
)

// defaultEnv are the environment variables that a program sees, with * for any
// rest of a name. Go's js port has little room for them, so they are chosen:
// what the Go runtime and the testing package read, and agentruntime's own.
var defaultEnv = []string{
	"GODEBUG", "GOGC", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GO_TEST_*",
	"GOROOT", "PWD", "CI", "TEST_*", "AGENTRUNTIME_*",
}

// argumentSpace is the number of bytes that wasm_exec.js has for the argument
// and environment strings and the pointers to them.
const argumentSpace = 8192

// pageConfig is what page.js needs to know. It reaches the page through the
// DevTools connection only, so that no other program on the machine can fetch
// the secret or the environment.
type pageConfig struct {
	Binding string            `json:"binding"`
	Program string            `json:"program"`
	Files   string            `json:"files"`
	Secret  string            `json:"secret"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	PID     int               `json:"pid"`
	Open    map[string]int    `json:"open"` // flags of fs.open
}

func newPageConfig(s settings) (pageConfig, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return pageConfig{}, err
	}
	cfg := pageConfig{
		Binding: bindingName,
		Program: programPath,
		Files:   filesPath,
		Secret:  rand.Text(),
		Args:    s.args,
		Env:     chooseEnv(os.Environ(), append(s.env, defaultEnv...)),
		Cwd:     cwd,
		PID:     os.Getpid(),
		Open: map[string]int{
			"O_WRONLY": os.O_WRONLY, "O_RDWR": os.O_RDWR, "O_CREAT": os.O_CREATE,
			"O_TRUNC": os.O_TRUNC, "O_APPEND": os.O_APPEND, "O_EXCL": os.O_EXCL,
			"O_DIRECTORY": openDirectory,
		},
	}
	cfg.Env["TMPDIR"] = os.TempDir()
	if n := argumentBytes(cfg.Args, cfg.Env); n >= argumentSpace {
		return pageConfig{}, fmt.Errorf("arguments and environment need %d bytes, Go for js has less than %d: "+
			"pass fewer variables (-env, AGENTRUNTIME_*) or shorter arguments", n, argumentSpace)
	}
	return cfg, nil
}

// chooseEnv returns the variables of environ ("NAME=value") that a pattern
// names.
func chooseEnv(environ, patterns []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) }) {
			env[name] = value
		}
	}
	return env
}

func matches(pattern, name string) bool {
	pattern = strings.TrimSpace(pattern)
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// argumentBytes counts as wasm_exec.js does: each string ends in a zero and is
// padded to 8 bytes, each has a pointer of 8, and so have two terminators.
func argumentBytes(args []string, env map[string]string) int {
	n := 2 * 8
	add := func(length int) { n += (length+1+7)/8*8 + 8 }
	for _, arg := range args {
		add(len(arg))
	}
	for name, value := range env {
		add(len(name) + len("=") + len(value))
	}
	return n
}

// loadGlue reads the toolchain's wasm_exec.js. go test and go run put GOROOT
// of the toolchain that built the program into the environment.
func loadGlue() (string, error) {
	root := os.Getenv("GOROOT")
	if root == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return "", errors.New("find wasm_exec.js: GOROOT is not set and the go command is not on PATH")
		}
		root = strings.TrimSpace(string(out))
	}
	glue, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return "", fmt.Errorf("find wasm_exec.js: %w", err)
	}
	return string(glue), nil
}

// startExpression returns the script that runs the program. The glue becomes a
// function of fs, because it uses that global even when a program panics, long
// after the global was taken off the page.
func startExpression(cfg pageConfig, glue string) (string, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return "", err
	}
	return "(" + strings.TrimSpace(pageScript) + ")(" + string(text) + ", function (fs) {" + glue + "\n})", nil
}
