package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// process is the process of the service.
type process struct {
	cmd  *exec.Cmd
	info localservice.Info
}

// startService builds the service and starts it with an agent that never stops
// talking, on the first core alone or on all of them.
func startService(ctx context.Context, dir string, sessions int, voice string, oneCore bool) (*process, error) {
	const program = "build/bench/localservice" // not in dir, so that it is linked only when it has changed
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/localservice")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build the service: %w", err)
	}
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte(endless()), 0o600); err != nil {
		return nil, err
	}
	command := []string{
		program, "-addr", "127.0.0.1:0", "-json", "-log-level", "error", "-script", script,
		"-voice", voice, "-max-calls", fmt.Sprint(2 * sessions), // the service grants three quarters of them to one address
	}
	if oneCore {
		command = append([]string{"taskset", "-c", "0"}, command...) // Go sets GOMAXPROCS to 1 for this affinity
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.info)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the service's addresses: %w", err), p.stop())
	}
	return p, nil
}

// endless returns a script whose only answer lasts longer than any measurement. Its sentences
// are produced about as fast as they are spoken, so that the agents talk all the time and
// producing text adds little load.
func endless() string {
	const step = "{say: \"And so the story goes on and on, with one thing after another, and never a pause to think. \"}, {pause: 4000}"
	return "rules:\n  - when: {any: true}\n    steps: [" + strings.Repeat(step+", ", 99) + step + "]\n"
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// sample is a measurement of both processes at one time.
type sample struct {
	at               time.Time
	service, viewers usage
	due, late        int // frames since the start
}

func (p *process) measure(ctx context.Context) (s sample, err error) {
	s.at = time.Now()
	if s.service, err = readUsage(p.cmd.Process.Pid); err != nil {
		return s, err
	}
	if s.viewers, err = readUsage(os.Getpid()); err != nil {
		return s, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.info.ControlURL+"/sessions", nil)
	if err != nil {
		return s, err
	}
	r.Header.Set("Authorization", "Bearer "+p.info.ControlToken)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return s, err
	}
	defer reply.Body.Close()
	var list struct {
		Sessions []struct {
			Media struct{ FramesDue, FramesMissed int }
		}
	}
	if err := json.NewDecoder(reply.Body).Decode(&list); err != nil {
		return s, err
	}
	for _, x := range list.Sessions {
		s.due += x.Media.FramesDue
		s.late += x.Media.FramesMissed
	}
	return s, nil
}

// ticksPerSecond is the resolution of processor times in /proc, the same on every Linux.
const ticksPerSecond = 100

// usage is what a process has used so far.
type usage struct {
	processor time.Duration
	memory    int64 // resident, in bytes
}

// readUsage reads /proc (proc(5)).
func readUsage(pid int) (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return usage{}, err
	}
	// The name in parentheses may contain spaces; the fields after it don't. The
	// first of them is field 3, utime is 14 and stime 15.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("%sstat: %q", dir, stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return usage{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return usage{}, err
	}
	memory, err := os.ReadFile(dir + "statm")
	if err != nil {
		return usage{}, err
	}
	pages := strings.Fields(string(memory))
	if len(pages) < 2 {
		return usage{}, fmt.Errorf("%sstatm: %q", dir, memory)
	}
	resident, err := strconv.ParseInt(pages[1], 10, 64)
	if err != nil {
		return usage{}, err
	}
	return usage{
		processor: time.Duration(user+system) * time.Second / ticksPerSecond,
		memory:    resident * int64(os.Getpagesize()),
	}, nil
}
