package agentruntime

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.k6.io/k6/v2/cmd"

	"github.com/agentruntime/agentruntime/agenttest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// asK6 is set in a process of this test program that runs as k6.
const asK6 = "AGENTRUNTIME_TEST_AS_K6"

func TestMain(m *testing.M) {
	if os.Getenv(asK6) != "" {
		cmd.Execute() // exits
	}
	os.Exit(m.Run())
}

// k6 returns a process of k6 that runs a script against a service, and writes its samples into
// a file.
func k6(t *testing.T, service *agenttest.Server, script, samples string, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{"run", "--quiet", "--no-usage-report", "--address", "", "--out", "json=" + samples}, append(args, script)...)
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asK6+"=1", "SERVICE="+*service.Info().GenieURL)
	return c
}

// total is what the samples of one metric add up to.
type total struct {
	samples int
	sum     float64
}

// totals reads what k6 has written.
func totals(t *testing.T, files ...string) map[string]total {
	t.Helper()
	all := map[string]total{}
	for _, name := range files {
		f := must.Get(os.Open(name))(t)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var line struct {
				Type, Metric string
				Data         struct{ Value float64 }
			}
			must.Do(t, json.Unmarshal(lines.Bytes(), &line))
			if line.Type == "Point" {
				sum := all[line.Metric]
				all[line.Metric] = total{sum.samples + 1, sum.sum + line.Data.Value}
			}
		}
	}
	return all
}

// TestTwoProcessesAddUp: each runs its segment of one test, and their samples together are
// those of the whole.
func TestTwoProcessesAddUp(t *testing.T) {
	service := agenttest.NewServer(t)
	dir := t.TempDir()
	var files []string
	var processes []*exec.Cmd
	var printed []func() string
	for i, segment := range []string{"0:1/2", "1/2:1"} {
		file := filepath.Join(dir, fmt.Sprint(i))
		c := k6(t, service, "testdata/exact.js", file, "--execution-segment", segment, "--execution-segment-sequence", "0,1/2,1")
		out := must.Get(os.Create(file + ".log"))(t)
		defer out.Close()
		c.Stdout, c.Stderr = out, out
		must.Do(t, c.Start())
		files, processes = append(files, file), append(processes, c)
		printed = append(printed, func() string { text, _ := os.ReadFile(out.Name()); return string(text) })
	}
	for i, c := range processes {
		if err := c.Wait(); err != nil {
			t.Fatalf("process %d: %v\n%s", i, err, printed[i]())
		}
	}

	for i, file := range files { // each half of both scenarios
		expect.Equal(t, totals(t, file)["agentruntime_sessions"], (total{7, 7}), "process %d: sessions", i)
	}
	got := totals(t, files...)
	for name, want := range map[string]total{
		"agentruntime_sessions":       {14, 14},
		"agentruntime_connect_failed": {14, 0},
		"agentruntime_answer_failed":  {14, 0},
		"iterations":                  {14, 14},
	} {
		expect.Equal(t, got[name], want, "%s", name)
	}
	for name, samples := range map[string]int{
		"agentruntime_connect": 14, "agentruntime_first_frame": 4, "agentruntime_media_received": 4,
		"agentruntime_answer_first_sound": 4, "agentruntime_answer_duration": 14,
	} {
		expect.Equal(t, got[name].samples, samples, "%s samples", name)
	}
}

// thresholdsCrossed is how k6 exits when a threshold was crossed.
const thresholdsCrossed = 99

// TestTheScriptOfTheDocs runs without a failure. Its thresholds are about times, so on a busy
// machine they may be crossed.
func TestTheScriptOfTheDocs(t *testing.T) {
	service := agenttest.NewServer(t)
	file := filepath.Join(t.TempDir(), "samples")
	c := k6(t, service, "visitors.js", file, "--env", "VISITORS=2", "--env", "HOLD=5s")
	printed, err := c.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != thresholdsCrossed) {
		t.Fatalf("%v\n%s", err, printed)
	}
	got := totals(t, file)
	for _, name := range []string{"agentruntime_interrupt", "agentruntime_answer_first_sound", "agentruntime_media_received"} {
		if got[name].samples < 2 {
			t.Errorf("%d samples of %s", got[name].samples, name)
		}
	}
	for _, name := range []string{"agentruntime_sessions_lost", "agentruntime_connect_failed", "agentruntime_answer_failed"} {
		if n := got[name].sum; n != 0 {
			t.Errorf("%s: %v\n%s", name, n, printed)
		}
	}
}
