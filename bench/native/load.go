package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/bench/service"
)

// load is the measured load of a number of sessions.
type load struct {
	sessions float64
	due      int
	late     float64 // the share of frames that were sent too late
	service  share
	viewers  share
}

// share is the processor time and memory of one of the processes.
type share struct {
	cores  float64
	memory float64 // bytes for each session
}

// measure waits until the sessions have settled, and then for d.
func (l *load) measure(ctx context.Context, p *service.Process, idle sample, settle, d time.Duration) error {
	if err := figures.Wait(ctx, settle); err != nil {
		return err
	}
	before, err := measure(ctx, p)
	if err != nil {
		return err
	}
	if err := figures.Wait(ctx, d); err != nil {
		return err
	}
	after, err := measure(ctx, p)
	if err != nil {
		return err
	}
	l.due = after.due - before.due
	l.late = float64(after.late-before.late) / float64(max(l.due, 1))
	seconds := after.at.Sub(before.at).Seconds()
	took := func(idle, before, after service.Usage) share {
		return share{(after.Processor - before.Processor).Seconds() / seconds, float64(after.Memory-idle.Memory) / l.sessions}
	}
	l.service = took(idle.service, before.service, after.service)
	l.viewers = took(idle.viewers, before.viewers, after.viewers)
	return nil
}

// line returns the load as a line of the table of steps.
func (l *load) line() string {
	return fmt.Sprintf("| %.0f | %d | %.2f %% | %.2f | %.2f ms/s | %.2f MB | %.2f | %.2f MB |", l.sessions, l.due, 100*l.late,
		l.service.cores, 1000*l.service.cores/l.sessions, l.service.memory/1e6, l.viewers.cores, l.viewers.memory/1e6)
}

// rows returns the rows for docs/performance.md.
func (l *load) rows() []figures.Row {
	sessions := figures.Alone("native sessions with picture and voice on one core, viewers apart", "sessions", l.sessions)
	sessions.Goal = figures.Goal{Of: figures.AtLeast, Bound: goal}
	n := max(l.sessions, 1)
	return []figures.Row{
		sessions,
		figures.Alone("processor of the service for one session", "ms/s", 1000*l.service.cores/n),
		figures.Alone("memory of the service for one session", "MB", l.service.memory/1e6),
		figures.Alone("processor of a viewer, a native session of the runtime", "ms/s", 1000*l.viewers.cores/n),
		figures.Alone("memory of a viewer", "MB", l.viewers.memory/1e6),
	}
}

// sample is a measurement of both processes at one time.
type sample struct {
	at               time.Time
	service, viewers service.Usage
	due, late        int // frames since the start
}

func measure(ctx context.Context, p *service.Process) (s sample, err error) {
	s.at = time.Now()
	if s.service, err = p.Usage(); err != nil {
		return s, err
	}
	if s.viewers, err = service.ReadUsage(os.Getpid()); err != nil {
		return s, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Info.ControlURL+"/sessions", nil)
	if err != nil {
		return s, err
	}
	r.Header.Set("Authorization", "Bearer "+p.Info.ControlToken)
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

// endless returns a script whose only answer lasts longer than any measurement. Its sentences
// are produced about as fast as they are spoken, so that the agents talk all the time and
// producing text adds little load.
func endless() string {
	const step = "{say: \"And so the story goes on and on, with one thing after another, and never a pause to think. \"}, {pause: 4000}"
	return "rules:\n  - when: {any: true}\n    steps: [" + strings.Repeat(step+", ", 99) + step + "]\n"
}
