// Package service starts the local service as a process of its own for the benchmarks, and measures what
// processes use. It needs Linux and the root of the module as the present folder.
package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// Process is the process of the service.
type Process struct {
	Info localservice.Info

	cmd *exec.Cmd
	dir string
}

// Start builds the service and starts it with a script. With oneCore it has the first core for itself, and this
// process the others.
func Start(ctx context.Context, script string, oneCore bool, flags ...string) (p *Process, err error) {
	const program = "build/bench/localservice" // not temporary, so that it is linked only when it has changed
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/localservice")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build the service: %w", err)
	}
	p = &Process{}
	if p.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	file := filepath.Join(p.dir, "script.yaml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return p, err
	}
	command := append([]string{program, "-addr", "127.0.0.1:0", "-json", "-log-level", "error", "-script", file}, flags...)
	if oneCore {
		if err := keepOff(ctx); err != nil {
			return p, err
		}
		command = append([]string{"taskset", "-c", "0"}, command...) // Go sets GOMAXPROCS to 1 for this affinity
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return p, err
	}
	if err := cmd.Start(); err != nil {
		return p, err
	}
	p.cmd = cmd
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.Info)
	}
	if err != nil {
		return p, fmt.Errorf("read the service's addresses: %w", err)
	}
	return p, nil
}

// Access returns what a session with the built-in agent without an opening needs.
func Access(ctx context.Context, info localservice.Info) (*appinit.Result, error) {
	a, _ := info.Agent("silent")
	return appinit.Init(ctx, appinit.Options{
		WidgetID: a.WidgetID,
		Config:   appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	})
}

// keepOff keeps this process off the first core.
func keepOff(ctx context.Context) error {
	if runtime.NumCPU() < 2 {
		return errors.New("the service and the clients need a core each")
	}
	others := fmt.Sprintf("1-%d", runtime.NumCPU()-1)
	if out, err := exec.CommandContext(ctx, "taskset", "-acp", others, fmt.Sprint(os.Getpid())).CombinedOutput(); err != nil {
		return fmt.Errorf("keep the clients off the first core: %w: %s", err, out)
	}
	return nil
}

// Usage returns what the service has used so far.
func (p *Process) Usage() (Usage, error) { return ReadUsage(p.cmd.Process.Pid) }

// Stop ends the service and removes its files.
func (p *Process) Stop() (err error) {
	if p.cmd != nil {
		if err = p.cmd.Process.Signal(os.Interrupt); err == nil {
			err = p.cmd.Wait()
		}
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// ticksPerSecond is the resolution of processor times in /proc, the same on every Linux.
const ticksPerSecond = 100

// Usage is what a process has used so far.
type Usage struct {
	Processor time.Duration
	Memory    int64 // resident, in bytes
}

// ReadUsage reads /proc (proc(5)).
func ReadUsage(pid int) (Usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, err
	}
	// The name in parentheses may contain spaces; the fields after it don't. The
	// first of them is field 3, utime is 14 and stime 15.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("%sstat: %q", dir, stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	memory, err := os.ReadFile(dir + "statm")
	if err != nil {
		return Usage{}, err
	}
	pages := strings.Fields(string(memory))
	if len(pages) < 2 {
		return Usage{}, fmt.Errorf("%sstatm: %q", dir, memory)
	}
	resident, err := strconv.ParseInt(pages[1], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	return Usage{
		Processor: time.Duration(user+system) * time.Second / ticksPerSecond,
		Memory:    resident * int64(os.Getpagesize()),
	}, nil
}
