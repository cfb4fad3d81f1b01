package avatar

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestNothingIsLeftAfterAnyOrder calls all methods of a session in random orders and beside each other, with slow
// devices and a slow service. After the end no device, peer or socket is open, each call has ended with a code, and nothing
// happens any more; no goroutine may be left, which the bubble checks.
func TestNothingIsLeftAfterAnyOrder(t *testing.T) {
	sessions := 300
	if testing.Short() {
		sessions = 60
	}
	for seed := range sessions {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newOrder(t, uint64(seed)).play() })
		})
	}
}

// order is a session on which random methods are called.
type order struct {
	*Session
	t       *testing.T
	rnd     *rand.Rand // of the goroutine of play
	service *fakeservice.Service
	media   *moodyMic
	calls   sync.WaitGroup

	mu     sync.Mutex
	names  []string // of the methods called
	events int
}

// moodyMic grants its devices late, refuses some, and grants none after the end of the context, as [media.Engine]
// promises.
type moodyMic struct {
	fakeMedia
	own sync.Mutex // guards rnd
	rnd *rand.Rand
}

func (m *moodyMic) StartMic(ctx context.Context) error {
	m.own.Lock()
	wait, refused := time.Duration(m.rnd.IntN(3000))*time.Millisecond, m.rnd.IntN(4) == 0
	m.own.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case refused:
		return fault.New(fault.MicPermissionDenied, "")
	}
	return m.fakeMedia.StartMic(ctx)
}

func (m *moodyMic) SwitchMic(ctx context.Context, _ string) error { return m.StartMic(ctx) }

func newOrder(t *testing.T, seed uint64) *order {
	o := &order{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), service: fakeservice.New(t), media: &moodyMic{rnd: rand.New(rand.NewPCG(seed, 2))}}
	o.delay(signaling.Join, 2000)
	o.delay(signaling.StvNewSession, 2000)
	o.delay(signaling.ASROffer, 500)
	start := MicImmediate
	if o.rnd.IntN(2) == 0 {
		start = MicDeferred
	}
	s := must.Get(New(Options{MicStart: start, Media: instead(o.media), Options: session.Options{
		Token:      "token",
		GenieURL:   new("https://brain.example"),
		HTTPClient: fakeservice.Reach(&fakeHTTP{status: 200}, o.service.Dial),
		OnEvent: func(e event.Event) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.events++
			if f, ok := e.(event.Failed); ok && f.Code == fault.InternalError {
				t.Errorf("event %v", f.Error)
			}
		},
	}}))(t)
	o.Session = s
	return o
}

// delay lets the service answer an event up to ms milliseconds later, or now and then not at all.
func (o *order) delay(name string, ms int) {
	answer, wait := o.service.Answer[name], time.Duration(o.rnd.IntN(ms))*time.Millisecond
	if o.rnd.IntN(10) == 0 {
		delete(o.service.Answer, name)
		return
	}
	o.service.Answer[name] = func(s *fakeservice.Socket, p fakeservice.Event) { time.AfterFunc(wait, func() { answer(s, p) }) }
}

func (o *order) play() {
	if o.rnd.IntN(2) == 0 {
		o.call("Connect")
		time.Sleep(o.within(6 * time.Second))
	}
	methods := reflect.TypeOf(o.Session)
	for range 5 + o.rnd.IntN(30) {
		name := methods.Method(o.rnd.IntN(methods.NumMethod())).Name
		switch name {
		case "Close", "Fail", "Format": // at the end; reports a bug of ours; of package fmt
			continue
		case "Disconnect", "Stop":
			if o.rnd.IntN(4) > 0 {
				continue
			}
		}
		o.call(name)
		if o.rnd.IntN(8) == 0 {
			o.drop()
		}
		time.Sleep(o.within(time.Second))
	}
	o.Close()
	o.calls.Wait()
	synctest.Wait()
	o.mu.Lock()
	before := o.events
	o.mu.Unlock()
	time.Sleep(time.Hour) // longer than every time limit
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.events != before {
		o.t.Errorf("%d events after the end", o.events-before)
	}
	if o.media.MicStarted() || o.media.Open != 0 {
		o.t.Errorf("the microphone is on: %v, %d peers are open", o.media.MicStarted(), o.media.Open)
	}
	for i := range o.service.Dialled() {
		if !o.service.Socket(i).Closed() {
			o.t.Errorf("socket %d is open", i)
		}
	}
	if o.t.Failed() {
		o.t.Logf("called %v", o.names)
	}
}

// drop ends a socket as a network or the service does.
func (o *order) drop() {
	if n := o.service.Dialled(); n > 0 {
		o.service.Socket(o.rnd.IntN(n)).Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.ServerDisconnect})
	}
}

func (o *order) within(d time.Duration) time.Duration { return time.Duration(o.rnd.Int64N(int64(d))) }

// call calls a method beside everything else.
func (o *order) call(name string) {
	o.mu.Lock()
	o.names = append(o.names, name)
	o.mu.Unlock()
	method := reflect.ValueOf(o.Session).MethodByName(name)
	args := make([]reflect.Value, method.Type().NumIn())
	for i := range args {
		args[i] = o.argument(method.Type().In(i))
	}
	o.calls.Go(func() {
		for _, result := range method.Call(args) {
			err, ok := result.Interface().(error)
			if ok && fault.From(err).Code == fault.InternalError {
				o.t.Errorf("%s: %v", name, err)
			}
			if wait, ok := result.Interface().(func() (bool, error)); ok {
				_, _ = wait()
			}
		}
	})
}

var errOwn = errors.New("a cause of the application")

// argument returns a random argument of a type.
func (o *order) argument(kind reflect.Type) reflect.Value {
	if kind == reflect.TypeFor[context.Context]() {
		ctx, cancel := context.WithCancelCause(context.Background())
		switch o.rnd.IntN(3) {
		case 0:
			time.AfterFunc(o.within(2*time.Second), func() { cancel(errOwn) })
		case 1:
			cancel(errOwn)
		default:
			time.AfterFunc(30*time.Minute, func() { cancel(nil) })
		}
		return reflect.ValueOf(&ctx).Elem()
	}
	v := reflect.New(kind).Elem()
	switch kind.Kind() {
	case reflect.Func:
		v.Set(reflect.MakeFunc(kind, func([]reflect.Value) []reflect.Value {
			results := make([]reflect.Value, kind.NumOut())
			for i := range results {
				results[i] = reflect.Zero(kind.Out(i))
			}
			return results
		}))
	case reflect.String:
		v.SetString([]string{"", "one", "two"}[o.rnd.IntN(3)])
	case reflect.Int:
		v.SetInt(int64(o.rnd.IntN(1000)))
	case reflect.Int64: // a duration
		v.SetInt(int64(o.within(5 * time.Second)))
	case reflect.Bool:
		v.SetBool(o.rnd.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(o.rnd.Float64())
	}
	return v
}
