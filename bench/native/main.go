// Command native measures how many sessions with picture and voice the local service can
// serve on one processor core: each has a control socket, a viewer behind the relay, and an
// agent that talks without a pause. The service runs as a separate process on the first core.
// The viewers are sessions of the runtime, in this process, on the other cores.
//
// Sessions are added until too many frames are sent too late, which the service counts. The
// processor time and memory of both processes are read from /proc, so this needs Linux.
//
// Usage, from the root of the module:
//
//	go run ./bench/native -sessions 100 -step 50 -duration 5s
//
// The result is in docs/performance.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/bench/service"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/avatar"
)

const (
	// goal is how many sessions one core should be able to serve.
	goal = 150
	// tolerated is the share of frames that may be sent too late.
	tolerated = 0.01
)

func main() { figures.Main(run) }

func run(ctx context.Context) (err error) {
	most := flag.Int("sessions", 300, "`number` of sessions at most")
	step := flag.Int("step", 50, "`number` of sessions that are added at once")
	duration := flag.Duration("duration", 5*time.Second, "how long to measure after each step")
	settle := flag.Duration("settle", 6*time.Second, "how long new sessions talk before they are measured: their first 20 s are made ahead")
	voice := flag.String("voice", "builtin", "`kind` of voice")
	together := flag.Bool("together", false, "service and viewers share all cores")
	file := flag.String("json", "", "`file` for the rows")
	flag.Parse()
	process, err := service.Start(ctx, endless(), !*together,
		"-voice", *voice, "-max-calls", fmt.Sprint(2**most)) // it grants three quarters of them to one address
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()

	var clients []*avatar.Session
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	idle, err := measure(ctx, process)
	if err != nil {
		return err
	}
	log.Print("| sessions | frames due | late | service: cores | per session | memory per session | viewers: cores | memory per session |")
	log.Print("| --- | --- | --- | --- | --- | --- | --- | --- |")
	var carried load
	for len(clients) < *most {
		added, err := connectAll(ctx, process.Info, min(*step, *most-len(clients)))
		clients = append(clients, added...)
		if err != nil {
			return err
		}
		l := load{sessions: float64(len(clients))}
		if err := l.measure(ctx, process, idle, *settle, *duration); err != nil {
			return err
		}
		log.Print(l.line())
		if l.late > tolerated { // measured again, because speech may still have been synthesized in advance
			if err := l.measure(ctx, process, idle, *settle, *duration); err != nil {
				return err
			}
			log.Print(l.line())
		}
		if l.late > tolerated {
			break
		}
		carried = l
	}
	return figures.Report(*file, carried.rows())
}

// atOnce is how many clients connect at the same time.
const atOnce = 5

// connectAll connects n clients and returns those that succeeded. Their agents start to talk when all
// are connected.
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
	for _, c := range clients {
		if err := talk(ctx, c); err != nil {
			errs = append(errs, err)
		}
	}
	return clients, errors.Join(errs...)
}
