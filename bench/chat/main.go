// Command chat measures how many busy conversations in text the local service can hold on one processor
// core: each asks a question, reads the streamed answer, thinks for about a second, and asks again. The service runs as a
// separate process on the first core, the conversations in this process on the others.
//
// Conversations are added until one answer in twenty begins later than its limit, or one fails.
//
// Usage, from the root of the module:
//
//	go run ./bench/chat -sessions 300 -step 25
//
// The result is in docs/performance.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/bench/service"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/chat"
)

const (
	// goal is how many conversations one core should be able to hold.
	goal = 350
	// limit is when the first segment of 19 of 20 answers must be there.
	limit = 250 * time.Millisecond
	// think is the mean time between an answer and the next question; it varies by half.
	think = time.Second
)

// script answers each question with two sentences, which the service sends word by word.
const script = `
rules:
  - when: {any: true}
    steps:
      - say: We are open from nine to five on weekdays. On Saturdays we close at noon.
`

func main() { figures.Main(run) }

func run(ctx context.Context) (err error) {
	first := flag.Int("sessions", 200, "`number` of conversations to begin with")
	most := flag.Int("most", 450, "`number` of conversations at most")
	step := flag.Int("step", 50, "`number` of conversations that are added at once")
	duration := flag.Duration("duration", 3*time.Second, "how long to measure after each step")
	settle := flag.Duration("settle", 2*time.Second, "how long new conversations go on before they are measured")
	file := flag.String("json", "", "`file` for the rows")
	flag.Parse()
	process, err := service.Start(ctx, script, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	v := visitors{info: process.Info}
	ctx, stop := context.WithCancel(ctx)
	defer v.wait.Wait()
	defer stop()
	log.Print("| conversations | answers a second | first segment: half within | 19 of 20 within | failed | service: cores | a turn | clients: cores |")
	log.Print("| --- | --- | --- | --- | --- | --- | --- | --- |")
	var carried load
	for n := *first; n <= *most; n += *step {
		v.add(ctx, n)
		if err := figures.Wait(ctx, *settle); err != nil {
			return err
		}
		l, err := v.measure(ctx, process, *duration)
		if err != nil {
			return err
		}
		log.Print(l.line())
		if !l.carried() {
			break
		}
		carried = l
	}
	return errors.Join(v.failure(), figures.Report(*file, carried.rows()))
}

// visitors are conversations.
type visitors struct {
	info     localservice.Info
	wait     sync.WaitGroup
	answered sync.WaitGroup // their first answers

	mu     sync.Mutex
	count  int
	firsts []time.Duration // to the first segment, of the answers since the last measurement began
	errs   []error
}

// add adds conversations until there are n, and waits until each has had an answer.
func (v *visitors) add(ctx context.Context, n int) {
	defer v.answered.Wait()
	for ; v.count < n; v.count++ {
		v.answered.Add(1)
		answered := sync.OnceFunc(v.answered.Done)
		v.wait.Go(func() {
			defer answered()
			err := v.converse(ctx, answered)
			if ctx.Err() != nil {
				return
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			v.errs = append(v.errs, err)
		})
	}
}

// converse is one conversation; it ends with ctx, or with the first error. It calls answered after each answer.
func (v *visitors) converse(ctx context.Context, answered func()) error {
	if err := figures.Wait(ctx, rand.N(2*time.Second)); err != nil { // they do not all come at once
		return err
	}
	access, err := service.Access(ctx, v.info)
	if err != nil {
		return err
	}
	session, err := chat.New(chat.OptionsFor(access))
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Connect(ctx); err != nil {
		return err
	}
	for {
		asked := time.Now()
		var first time.Duration
		for segment, err := range session.Stream(ctx, "When are you open?", chat.TurnOptions{}) {
			if err != nil {
				return err
			}
			if first == 0 && segment.Type.Spoken() {
				first = time.Since(asked)
			}
		}
		if first == 0 {
			return errors.New("an answer without text")
		}
		v.mu.Lock()
		v.firsts = append(v.firsts, first)
		v.mu.Unlock()
		answered()
		if err := figures.Wait(ctx, think/2+rand.N(think)); err != nil {
			return err
		}
	}
}

// failure returns the errors of the conversations.
func (v *visitors) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return errors.Join(v.errs...)
}

// load is the measured load of a number of conversations.
type load struct {
	conversations, failed int
	answers               float64 // a second
	half, most            time.Duration
	cores, clients        float64 // of the service, and of this process
}

// measure measures for d.
func (v *visitors) measure(ctx context.Context, p *service.Process, d time.Duration) (l load, err error) {
	v.mu.Lock()
	v.firsts = nil
	v.mu.Unlock()
	began := time.Now()
	before, mine, err := usage(p)
	if err != nil {
		return l, err
	}
	if err := figures.Wait(ctx, d); err != nil {
		return l, err
	}
	after, mineAfter, err := usage(p)
	if err != nil {
		return l, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	seconds := time.Since(began).Seconds()
	l = load{
		conversations: v.count, failed: len(v.errs), answers: float64(len(v.firsts)) / seconds,
		cores: (after.Processor - before.Processor).Seconds() / seconds, clients: (mineAfter.Processor - mine.Processor).Seconds() / seconds,
	}
	if slices.Sort(v.firsts); len(v.firsts) > 0 {
		l.half, l.most = v.firsts[len(v.firsts)/2], v.firsts[len(v.firsts)*19/20]
	}
	return l, nil
}

// usage returns what the service and this process have used so far.
func usage(p *service.Process) (its, mine service.Usage, err error) {
	if its, err = p.Usage(); err != nil {
		return its, mine, err
	}
	mine, err = service.ReadUsage(os.Getpid())
	return its, mine, err
}

// carried reports whether the service has held the conversations.
func (l load) carried() bool { return l.failed == 0 && l.most > 0 && l.most <= limit }

// turn is the processor time of the service for one answer, in ms.
func (l load) turn() float64 { return 1000 * l.cores / max(l.answers, 1) }

// line returns the load as a line of the table of steps.
func (l load) line() string {
	return fmt.Sprintf("| %d | %.0f | %d ms | %d ms | %d | %.2f | %.2f ms | %.2f |",
		l.conversations, l.answers, l.half.Milliseconds(), l.most.Milliseconds(), l.failed, l.cores, l.turn(), l.clients)
}

// rows returns the rows for docs/performance.md.
func (l load) rows() []figures.Row {
	sessions := figures.Alone("busy conversations in text on one core, visitors apart", "sessions", float64(l.conversations))
	sessions.Goal = figures.Goal{Of: figures.AtLeast, Bound: goal}
	return []figures.Row{
		sessions,
		figures.Alone("processor of the service for one turn in text", "ms", l.turn()),
		figures.Alone("first segment of 19 of 20 answers in text, at that load", "ms", float64(l.most.Milliseconds())),
	}
}
