//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// actAsRunner makes the test binary the runner itself, which saves building it.
const actAsRunner = "BROWSERTEST_ACT_AS_RUNNER"

// patience bounds one run: far more than any needs.
const patience = 2 * time.Minute

var buildDir string

func TestMain(m *testing.M) {
	if os.Getenv(actAsRunner) != "" {
		main()
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "browsertest"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// suite and program are the wasm files of testdata.
var (
	suite   = sync.OnceValues(func() (string, error) { return build("suite.test", "test", "-c", "-cover") })
	program = sync.OnceValues(func() (string, error) { return build("program", "build") })
)

func build(name string, command ...string) (string, error) {
	out := filepath.Join(buildDir, name)
	source, _, _ := strings.Cut(name, ".")
	cmd := exec.Command("go", append(command, "-o", out, "./testdata/"+source)...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, text)
	}
	return out, nil
}

// runner returns a command that runs the runner in the suite's directory.
func runner(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = "testdata/suite"
	cmd.Env = append(append(os.Environ(), "GOROOT="+goroot(), actAsRunner+"=1"), env...)
	return cmd
}

var goroot = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

type result struct {
	stdout, stderr string
	code           int
}

func execute(t *testing.T, env []string, args ...string) result {
	t.Helper()
	cmd := runner(t, env, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func file(t *testing.T, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runSuite runs the named test of the suite, with flags.
func runSuite(t *testing.T, env []string, name string, flags ...string) result {
	t.Helper()
	return execute(t, env, append([]string{file(t, suite), "-test.run=^" + name + "$"}, flags...)...)
}

func (r result) check(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	for _, c := range []struct{ name, got, want string }{{"stdout", r.stdout, stdout}, {"stderr", r.stderr, stderr}} {
		if !regexp.MustCompile(c.want).MatchString(c.got) {
			t.Errorf("%s does not match %s", c.name, c.want)
		}
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
	}
}

func TestSuiteEnds(t *testing.T) {
	for _, c := range []struct {
		test           string
		flags          []string
		env            []string
		code           int
		stdout, stderr string
	}{
		{
			test: "(TestPass|TestPage|TestReadsTestdata|TestFiles|TestFilesInCallback|TestStays)", flags: []string{"-test.v"},
			stdout: `^(=== RUN .*\n--- PASS: .*\n){6}PASS\n`, stderr: `^$`,
		},
		{test: "TestFail", code: 1, stdout: `--- FAIL: TestFail .*\n.*suite_test.go:\d+: failed as asked\nFAIL\n`, stderr: `^$`},
		{test: "TestPanic", code: 2, stdout: `--- FAIL: TestPanic`, stderr: `panic: panicked as asked [^$]*goroutine \d+ \[running\]:`},
		{
			test: "TestBusy", flags: []string{"-test.timeout=1s"}, code: exitTrouble,
			stdout: `^busy now\n$`, stderr: `still busy 5s after its -test.timeout of 1s`,
		},
		{
			test: "TestBlocked", flags: []string{"-test.timeout=1s"}, code: 2,
			stderr: `panic: test timed out after 1s\s+running tests:\s+TestBlocked`,
		},
		{
			test: "TestOutOfMemory", env: []string{"AGENTRUNTIME_BROWSER_FLAGS=--js-flags=--max-old-space-size=40"},
			code: exitTrouble, stderr: `the program did not end: page crashed\n$`,
		},
		{test: "TestLeave", code: exitTrouble, stderr: `the page was left or reloaded before the program ended`},
		{
			test: "TestException", stdout: `^PASS\n`,
			stderr: `^\[warning\] warned 1\n\[exception\] Uncaught Error: thrown as asked\n    at .*\n`,
		},
		{test: "TestLanguage", flags: nil, env: []string{"AGENTRUNTIME_BROWSER_FLAGS=--accept-lang=fr --no-pings"}, stdout: `^fr\nPASS\n`, stderr: `^$`},
	} {
		t.Run(c.test, func(t *testing.T) {
			t.Parallel()
			runSuite(t, c.env, c.test, c.flags...).check(t, c.code, c.stdout, c.stderr)
		})
	}
}

func TestProgramEnds(t *testing.T) {
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{args: []string{"exit", "0"}, stdout: `^$`, stderr: `^$`},
		{args: []string{"exit", "3"}, code: 3, stdout: `^$`, stderr: `^$`},
		{args: []string{"exit-with-timer"}, stdout: `^$`, stderr: `^$`},
		{args: []string{"deadlock"}, code: 2, stderr: `^fatal error: all goroutines are asleep - deadlock!`},
		{args: []string{"deadlock-in-callback"}, code: 2, stderr: `^fatal error: all goroutines are asleep - deadlock!`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			execute(t, nil, append([]string{file(t, program)}, c.args...)...).check(t, c.code, c.stdout, c.stderr)
		})
	}
}

func TestOutputKeepsItsOrderAndBytes(t *testing.T) {
	t.Parallel()
	cmd := runner(t, nil, file(t, program), "order")
	// One pipe for both shows the order between them as well.
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&want, "o%d e%d ", i, i)
	}
	want.WriteString("builtin\n\xff\x00\xc3\xbc\n")
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got %q", got)
	}
}

func TestOutputStreams(t *testing.T) {
	t.Parallel()
	signal := filepath.Join(t.TempDir(), "go")
	cmd := runner(t, nil, file(t, program), "wait-for", signal)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	part := make([]byte, len("waiting"))
	if _, err := stdout.Read(part); err != nil || string(part) != "waiting" {
		t.Fatalf("got %q, %v", part, err)
	}
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var rest bytes.Buffer
	rest.ReadFrom(stdout)
	if err := cmd.Wait(); err != nil || rest.String() != " seen\n" {
		t.Errorf("got %q, %v", rest.String(), err)
	}
}

func TestInterruptCleansUp(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	cmd := runner(t, []string{"TMPDIR=" + tmp}, file(t, program), "wait-for", filepath.Join(tmp, "never"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	new(bytes.Buffer).ReadFrom(stdout)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "go_js_wasm_exec: interrupted\n" {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) != 0 {
		t.Errorf("left in TMPDIR: %v, %v", entries, err)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, process := range processes {
		if cmdline, _ := os.ReadFile(process); bytes.Contains(cmdline, []byte(tmp)) {
			t.Errorf("still running: %q", cmdline)
		}
	}
}

func TestEnvironmentIsChosen(t *testing.T) {
	t.Parallel()
	env := []string{
		"AGENTRUNTIME_X=1", "GODEBUG=gctrace=0", "SECRET_TOKEN=hidden", "EXTRA_A=a", "EXTRA_B=b", "NAMED=n",
		"AGENTRUNTIME_BROWSER_ENV=EXTRA_*,NAMED",
	}
	r := runSuite(t, env, "TestEnvironment")
	r.check(t, 0, `\nPASS\n`, `^$`)
	lines := strings.Split(r.stdout, "\n")
	for _, want := range []string{"AGENTRUNTIME_X=1", "GODEBUG=gctrace=0", "EXTRA_A=a", "EXTRA_B=b", "NAMED=n"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, other := range []string{"SECRET_TOKEN=", "PATH=", actAsRunner + "="} {
		if strings.Contains(r.stdout, other) {
			t.Errorf("%s was passed", other)
		}
	}
}

func TestCommandLineMustFit(t *testing.T) {
	t.Parallel()
	r := execute(t, nil, file(t, program), strings.Repeat("x", argumentSpace))
	r.check(t, exitTrouble, `^$`, `^go_js_wasm_exec: arguments and environment need \d+ bytes, Go for js has less than 8192: `)
}

func TestOtherOriginsAreReachable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/socket" {
			c, err := websocket.Accept(w, r, &websocket.AcceptOptions{OriginPatterns: []string{"127.0.0.1:*"}})
			if err != nil {
				return
			}
			c.Write(r.Context(), websocket.MessageText, []byte("received"))
			c.Close(websocket.StatusNormalClosure, "")
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprint(w, "fetched")
	}))
	defer srv.Close()
	runSuite(t, []string{"AGENTRUNTIME_TEST_URL=" + srv.URL}, "TestOtherOrigin").check(t, 0, `^PASS\n`, `^$`)
}

func TestFakeMicrophone(t *testing.T) {
	t.Parallel()
	var wav bytes.Buffer
	wav.WriteString("RIFF\x64\x06\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	binary.Write(&wav, binary.LittleEndian, []uint32{8000, 16000})
	wav.WriteString("\x02\x00\x10\x00data\x40\x06\x00\x00")
	wav.Write(make([]byte, 1600)) // a tenth of a second of silence
	path := filepath.Join(t.TempDir(), "silence.wav")
	if err := os.WriteFile(path, wav.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	runSuite(t, []string{"AGENTRUNTIME_FAKE_MIC=" + path}, "TestMicrophone").check(t, 0, `^PASS\n`, `^$`)
	runSuite(t, nil, "TestMicrophone").check(t, 1, `microphone is Not`, `^$`)
}

func TestFilesComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := runSuite(t, nil, "TestPass", "-test.outputdir="+dir,
		"-test.coverprofile="+filepath.Join(dir, "cover.out"), "-test.memprofile=mem.out", "-test.trace=trace.out")
	r.check(t, 0, `^PASS\ncoverage: 66.7% of statements`, `^$`)
	cover, err := os.ReadFile(filepath.Join(dir, "cover.out"))
	if err != nil || !regexp.MustCompile(`^mode: set\n(.*suite.go:.* [01]\n){3}$`).Match(cover) {
		t.Errorf("coverage %q, %v", cover, err)
	}
	for name, magic := range map[string]string{"mem.out": "\x1f\x8b", "trace.out": "go 1."} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.HasPrefix(data, []byte(magic)) || len(data) < 100 {
			t.Errorf("%s: %d bytes %.8q, %v", name, len(data), data, err)
		}
	}
}

func TestCPUProfileComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runSuite(t, nil, "TestSpin", "-test.outputdir="+dir, "-test.cpuprofile=cpu.out").check(t, 0, `^PASS\n`, `^$`)
	out, err := exec.Command("go", "tool", "pprof", "-sample_index=cpu", "-top", filepath.Join(dir, "cpu.out")).CombinedOutput()
	// The columns are flat, flat%, sum%, cum, cum%, name; the linker writes
	// package paths with underscores.
	if err != nil || !regexp.MustCompile(`(?m)^ *[1-9]\d+\.\d+ms +\d.*%.*testdata_suite\.spin$`).Match(out) {
		t.Errorf("%s%v", out, err)
	}
}

func TestFilesNeedTheSecret(t *testing.T) {
	files := newFileServer("right")
	for secret, want := range map[string]int{"right": http.StatusOK, "wrong": http.StatusForbidden, "": http.StatusForbidden} {
		r := httptest.NewRequest("POST", "/?args={}", nil)
		r.Header.Set("Authorization", secret)
		w := httptest.NewRecorder()
		files.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: got %d, want %d", secret, w.Code, want)
		}
	}
}

func TestOutputThatNobodyReadsEndsTheRun(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	cmd := runner(t, []string{"TMPDIR=" + tmp}, file(t, program), "chatter")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitTrouble || !strings.HasSuffix(stderr.String(), "broken pipe\n") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) != 0 {
		t.Errorf("left in TMPDIR: %v, %v", entries, err)
	}
}

func TestTestFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"p", "-test.timeout=1s"}, "1s"},
		{[]string{"p", "--test.timeout", "2s", "-test.v"}, "2s"},
		{[]string{"p", "-test.timeout=1s", "-test.timeout=3s"}, "3s"},
		{[]string{"p", "--", "-test.timeout=1s"}, ""},
		{[]string{"p", "-test.timeout"}, ""},
		{nil, ""},
	} {
		if got := testFlag(c.args, "timeout"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.args, got, c.want)
		}
	}
}

func TestGoTestRunsIt(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(t.TempDir(), "cover.out")
	cmd := exec.Command("go", "test", "-exec", self, "-run=^(TestPass|TestReadsTestdata)$", "-count=1",
		"-coverprofile="+profile, "./testdata/suite")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", actAsRunner+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`^ok  \t.*/testdata/suite\t.*\tcoverage: 66.7% of statements\n$`).Match(out) {
		t.Errorf("%s%v", out, err)
	}
	if data, err := os.ReadFile(profile); err != nil || bytes.Count(data, []byte("\n")) != 4 {
		t.Errorf("coverage %q, %v", data, err)
	}
}

func TestWhatCannotRunIsAnError(t *testing.T) {
	notWasm := filepath.Join(t.TempDir(), "not.wasm")
	if err := os.WriteFile(notWasm, []byte("not wasm"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		code   int
		stderr string
	}{
		{name: "no program", code: exitUsage, stderr: `^usage: go_js_wasm_exec \[flags\] program.wasm`},
		{name: "missing program", args: []string{"nothing.wasm"}, code: exitTrouble, stderr: `nothing.wasm: no such file or directory\n$`},
		{name: "not a wasm program", args: []string{notWasm}, code: exitTrouble, stderr: `run the program: CompileError: `},
		{
			name: "no browser", env: []string{"PATH=" + empty, "AGENTRUNTIME_CHROME=", "CHROME="}, args: []string{notWasm},
			code: exitTrouble, stderr: `no Chromium found.*apt-get install chromium`,
		},
		{
			name: "wrong browser", env: []string{"CHROME=/nonexistent", "AGENTRUNTIME_CHROME="}, args: []string{notWasm},
			code: exitTrouble, stderr: `no Chromium found: CHROME names a program that cannot run`,
		},
		{
			name: "browser that ends", env: []string{"AGENTRUNTIME_CHROME=false"}, args: []string{notWasm},
			code: exitTrouble, stderr: `^go_js_wasm_exec: start browser: `,
		},
		{
			name: "no toolchain", env: []string{"PATH=" + empty, "GOROOT="}, args: []string{notWasm},
			code: exitTrouble, stderr: `find wasm_exec.js: GOROOT is not set and the go command is not on PATH`,
		},
		{
			name: "missing microphone", args: []string{"-mic", "nothing.wav", notWasm},
			code: exitTrouble, stderr: `fake microphone: stat nothing.wav: no such file`,
		},
		{
			name: "no display", env: []string{"WASM_HEADLESS=off", "DISPLAY=", "WAYLAND_DISPLAY="}, args: []string{notWasm},
			code: exitTrouble, stderr: `start browser: a visible window needs a display`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "darwin" && (c.name == "no browser" || c.name == "no display") {
				t.Skip("this system needs neither PATH nor DISPLAY")
			}
			t.Parallel()
			execute(t, c.env, c.args...).check(t, c.code, `^$`, c.stderr)
		})
	}
}
