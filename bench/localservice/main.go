// Command localservice measures the local service under many sessions at once:
// each has a control socket, a viewer behind the relay, and an agent that talks
// without a pause. It runs the service as a process of its own, reads its
// processor time and memory from /proc (so it needs Linux), and reads from the
// control address how many frames were sent too late.
//
// The sessions are those of the runtime, in this process. They share the
// processors with the service, like a browser on the same machine.
//
// Usage, from the root of the module:
//
//	go run ./bench/localservice -sessions 50 -duration 30s
//
// docs/local-service.md holds the recorded results.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/avatar"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Print(err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	sessions := flag.Int("sessions", 50, "`number` of sessions at once")
	duration := flag.Duration("duration", 30*time.Second, "how long to measure")
	voice := flag.String("voice", "builtin", "`kind` of voice")
	flag.Parse()

	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	service, err := startService(ctx, dir, *sessions, *voice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()

	idle, err := service.usage()
	if err != nil {
		return err
	}
	clients, err := connectAll(ctx, service.info, *sessions)
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	if err != nil {
		return err
	}
	for _, c := range clients { // when all are there
		if err := talk(ctx, c); err != nil {
			return err
		}
	}
	before, err := service.measure(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(*duration):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := service.measure(ctx)
	if err != nil {
		return err
	}
	report(*sessions, idle, before, after)
	return nil
}

// atOnce is how many clients connect at the same time.
const atOnce = 5

// connectAll connects n clients, and returns those that did.
func connectAll(ctx context.Context, info localservice.Info, n int) ([]*avatar.Session, error) {
	var (
		mu      sync.Mutex
		clients []*avatar.Session
		errs    []error
		wait    sync.WaitGroup
		places  = make(chan struct{}, atOnce)
	)
	for range n {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			c, err := connect(ctx, info)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			clients = append(clients, c)
		})
	}
	wait.Wait()
	return clients, errors.Join(errs...)
}

// report prints one row of the table in docs/local-service.md.
func report(n int, idle usage, before, after sample) {
	sessions := float64(n)
	seconds := after.at.Sub(before.at).Seconds()
	due, missed := after.due-before.due, after.missed-before.missed
	cores := (after.processor - before.processor).Seconds() / seconds
	fmt.Printf("| sessions | frames due | missed | processor, all | per session | memory, all | per session |\n")
	fmt.Printf("| --- | --- | --- | --- | --- | --- | --- |\n")
	fmt.Printf("| %d | %d | %.2f %% | %.2f cores of %d | %.1f ms/s | %.0f MB | %.2f MB |\n", n, due,
		100*float64(missed)/float64(max(due, 1)), cores, runtime.NumCPU(), 1000*cores/sessions,
		mega(after.memory), mega(after.memory-idle.memory)/sessions)
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// process is the service.
type process struct {
	cmd  *exec.Cmd
	info localservice.Info
}

// startService builds the service and starts it with an agent that never stops
// talking.
func startService(ctx context.Context, dir string, sessions int, voice string) (*process, error) {
	program := filepath.Join(dir, "localservice")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/localservice")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build the service: %w", err)
	}
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte(endless()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-addr", "127.0.0.1:0", "-json", "-log-level", "warn", "-script", script,
		"-voice", voice, "-max-calls", fmt.Sprint(2*sessions)) // one address has three quarters
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

// endless is a script whose one answer lasts longer than any measurement.
func endless() string {
	const sentence = "And so the story goes on and on, with one thing after another, and never a pause to think. "
	return "rules:\n  - when: {any: true}\n    steps: [{say: \"" + strings.Repeat(sentence, 100) + "\"}]\n"
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// sample is a moment of the service.
type sample struct {
	usage
	at          time.Time
	due, missed int // frames
}

func (p *process) measure(ctx context.Context) (sample, error) {
	s := sample{at: time.Now()}
	var err error
	if s.usage, err = p.usage(); err != nil {
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
			Media struct {
				FramesDue    int
				FramesMissed int
			}
		}
	}
	if err := json.NewDecoder(reply.Body).Decode(&list); err != nil {
		return s, err
	}
	for _, x := range list.Sessions {
		s.due += x.Media.FramesDue
		s.missed += x.Media.FramesMissed
	}
	return s, nil
}
