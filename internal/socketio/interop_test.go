package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// The tests in this file run natively and in Chromium, against the official
// server (testdata/npm-server.mjs) at an address given by the caller.

// patience is the outer limit of a wait for something that is certain to come. A page gives up what does not end after 60 s.
const patience = 40 * time.Second

// npmClient opens a client and takes its Connected event and the server's
// greeting.
func npmClient(t *testing.T, address, path string, o ClientOptions) *Client {
	t.Helper()
	o.Path = path
	c := must.Get(NewClient(address, o))(t)
	t.Cleanup(func() { c.Close() })
	c.Open()
	take(t, c, Connected)
	if ev := take(t, c, Message); ev.Name != "welcome" {
		t.Fatalf("got %q, want the greeting", ev.Name)
	}
	return c
}

// take returns the next event, which must be of this kind.
func take(t *testing.T, c *Client, kind Kind) Event {
	t.Helper()
	select {
	case ev := <-c.Events():
		if ev.Kind != kind {
			t.Fatalf("got %v %s %s %v, want %v", ev.Kind, ev.Name, ev.Reason, ev.Err, kind)
		}
		return ev
	case <-time.After(patience):
		t.Fatalf("nothing came, want %v", kind)
	}
	return Event{}
}

// takeEnd checks that nothing follows.
func takeEnd(t *testing.T, c *Client) {
	t.Helper()
	select {
	case ev, ok := <-c.Events():
		if ok {
			t.Fatalf("got %v %s %s, want the end", ev.Kind, ev.Name, ev.Reason)
		}
	case <-time.After(patience):
		t.Fatal("the events don't end")
	}
}

// takeReason takes a Disconnected event with this reason.
func takeReason(t *testing.T, c *Client, want ...Reason) {
	t.Helper()
	ev := take(t, c, Disconnected)
	for _, r := range want {
		if ev.Reason == r {
			return
		}
	}
	t.Fatalf("disconnected by %q (%v), want %q", ev.Reason, ev.Err, want)
}

// answer sends an event on the connection and waits for the acknowledgement's arguments.
func answer(ctx context.Context, c *Client, name string, args ...any) (Args, error) {
	answered := make(chan Args, 1)
	if err := c.EmitWithAck(name, func(args Args) { answered <- args }, args...); err != nil {
		return nil, err
	}
	select {
	case args := <-answered:
		return args, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func ask[T any](t *testing.T, c *Client, name string, args ...any) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var v T
	got, err := answer(ctx, c, name, args...)
	if err == nil {
		err = got.Decode(0, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// binary returns argument i, which is binary data.
func binary(t *testing.T, args Args, i int) (data Binary) {
	t.Helper()
	if err := args.Decode(i, &data); err != nil {
		t.Error(err)
	}
	return data
}

// awaitOpenSockets waits until the server has this many sockets besides the one
// that asks, and says what it found.
func awaitOpenSockets(t *testing.T, address string, want int) {
	t.Helper()
	c := npmClient(t, address, "/plain", ClientOptions{})
	defer c.Close()
	got := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if got = ask[int](t, c, "open sockets") - 1; got == want {
			return
		}
		time.Sleep(20 * time.Millisecond) // the server reports the count only when asked
	}
	t.Errorf("the server has %d sockets open, want %d", got, want)
}

// readAgain makes the server read again from all connections on which it stopped.
func readAgain(t *testing.T, address string) {
	t.Helper()
	c := npmClient(t, address, "/plain", ClientOptions{})
	defer c.Close()
	call(t, c, "read again")
}

// call waits for the server's answer, which is empty.
func call(t *testing.T, c *Client, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := answer(ctx, c, name); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// npmTests are the tests of the client's requirements in protocol §1.9.
var npmTests = []struct {
	name string
	test func(t *testing.T, address string)
}{
	{"Handshake", npmHandshake},
	{"TextEvents", npmTextEvents},
	{"BinaryEvents", npmBinaryEvents},
	{"ClientAsks", npmClientAsks},
	{"ServerAsks", npmServerAsks},
	{"LargeMessages", npmLargeMessages},
	{"Refusal", npmRefusal},
	{"ServerDisconnect", npmServerDisconnect},
	{"Heartbeat", npmHeartbeat},
	{"KilledAndRecovered", npmKilledAndRecovered},
	{"BrokenFrame", npmBrokenFrame},
	{"PeerThatTakesNothing", npmPeerThatTakesNothing},
	{"RefusedSocket", npmRefusedSocket},
	{"TooLargeMessage", npmTooLargeMessage},
	{"AbandonedDial", npmAbandonedDial},
	{"CloseWhileDialling", npmCloseWhileDialling},
	{"ConnectionRefused", npmConnectionRefused},
	{"ConcurrentEmitsInOrder", npmConcurrentEmits},
	// Whatever the test, no socket is left behind.
	{"EverySocketIsClosed", func(t *testing.T, address string) { awaitOpenSockets(t, address, 0) }},
}

func againstNPM(t *testing.T, address string) {
	for _, tc := range npmTests {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, address) })
	}
}

func npmHandshake(t *testing.T, address string) {
	c := must.Get(NewClient(address+"/", ClientOptions{
		Query: map[string]string{"stickyId": "k3v9 &x"},
		Auth:  map[string]string{"token": "djJ8"},
	}))(t)
	defer c.Close()
	c.Open()
	if ev := take(t, c, Connected); ev.Recovered {
		t.Error("recovered at first")
	}
	var got map[string]string
	ev := take(t, c, Message)
	must.Do(t, ev.Args.Decode(0, &got))
	want := map[string]string{"name": "recovery", "token": "djJ8", "query": "k3v9 &x", "eio": "4"}
	if ev.Name != "welcome" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s %v, want %v", ev.Name, got, want)
	}
	if len(c.ID()) != 20 {
		t.Errorf("ID %q", c.ID())
	}
}

func npmTextEvents(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	must.Do(t, c.Emit("echo", 1, "zwei ☕ <&>", nil, []any{true, map[string]any{"a": 1.5}}))
	must.Do(t, c.Emit("echo"))
	ev := take(t, c, Message)
	var text string
	if err := ev.Args.Decode(1, &text); err != nil || text != "zwei ☕ <&>" {
		t.Errorf("got %q, %v", text, err)
	}
	if ev.Name != "echo" || len(ev.Args) != 4 || string(ev.Args[3]) != `[true,{"a":1.5}]` {
		t.Errorf("got %s with %d arguments, the last %s", ev.Name, len(ev.Args), ev.Args[3])
	}
	if ev := take(t, c, Message); len(ev.Args) != 0 {
		t.Errorf("got %d arguments, want none", len(ev.Args))
	}
}

type picture struct {
	Name string `json:"name"`
	Data Binary `json:"data"`
}

func npmBinaryEvents(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	big := make(Binary, 300_000)
	for i := range big {
		big[i] = byte(i * 7)
	}
	must.Do(t, c.Emit("echo", picture{"a", big}, Binary{}, Binary{1, 2}))
	ev := take(t, c, Message)
	var got picture
	if err := ev.Args.Decode(0, &got); err != nil || got.Name != "a" || !reflect.DeepEqual(got.Data, big) {
		t.Errorf("got %s with %d bytes, %v", got.Name, len(got.Data), err)
	}
	if data := binary(t, ev.Args, 1); len(data) != 0 {
		t.Errorf("got %v, want no bytes", data)
	}
	if data := binary(t, ev.Args, 2); string(data) != "\x01\x02" {
		t.Errorf("got %v", data)
	}
}

func npmClientAsks(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	if got := ask[string](t, c, "echo", "answer"); got != "answer" {
		t.Errorf("got %q", got)
	}
	if got := ask[picture](t, c, "echo", picture{"b", Binary{5}}); got.Name != "b" || string(got.Data) != "\x05" {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := answer(ctx, c, "never answered"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func npmServerAsks(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	must.Do(t, c.Emit("ask me", "why", Binary{4}))
	ev := take(t, c, Message)
	if ev.Name != "question" || ev.Reply == nil || len(ev.Args) != 2 {
		t.Fatalf("got %s with %d arguments", ev.Name, len(ev.Args))
	}
	must.Do(t, ev.Reply("because", binary(t, ev.Args, 1)))
	ev = take(t, c, Message)
	var text string
	if err := ev.Args.Decode(0, &text); err != nil || ev.Name != "answered" || text != "because" {
		t.Errorf("got %s(%q), %v", ev.Name, text, err)
	}
	if data := binary(t, ev.Args, 1); string(data) != "\x04" {
		t.Errorf("got %v", data)
	}
}

func npmLargeMessages(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	const n = 2 << 20 // far beyond the library's own limit of 32 KiB
	must.Do(t, c.Emit("large", n))
	var text string
	if err := take(t, c, Message).Args.Decode(0, &text); err != nil || len(text) != n {
		t.Errorf("got %d characters, %v", len(text), err)
	}
}

func npmRefusal(t *testing.T, address string) {
	c := must.Get(NewClient(address, ClientOptions{Path: "/plain", Auth: json.RawMessage(`{"token":"bad"}`)}))(t)
	defer c.Close()
	c.Open()
	ev := take(t, c, ConnectError)
	var refused *RefusedError
	if !errors.As(ev.Err, &refused) || refused.Message != "unauthorized" || string(refused.Data) != `{"code":7}` {
		t.Errorf("got %#v", ev.Err)
	}
	takeEnd(t, c)
}

func npmServerDisconnect(t *testing.T, address string) {
	c := npmClient(t, address, "", ClientOptions{})
	must.Do(t, c.Emit("disconnect me"))
	takeReason(t, c, ServerDisconnect)
	takeEnd(t, c)
}

func npmHeartbeat(t *testing.T, address string) {
	c := npmClient(t, address, "/ping", ClientOptions{ReconnectAttempts: new(0)})
	select { // longer than interval and time-out together
	case ev := <-c.Events():
		t.Errorf("got %v %s", ev.Kind, ev.Reason)
	case <-time.After(3 * time.Second):
	}
}

func npmKilledAndRecovered(t *testing.T, address string) {
	c := npmClient(t, address, "", ClientOptions{})
	id := c.ID()
	must.Do(t, c.Emit("note", "kept"))
	must.Do(t, c.Emit("kill me"))
	takeReason(t, c, TransportClose, TransportError)
	expect.Equal(t, c.ID(), "", "an ID after the end")
	take(t, c, Reconnecting)
	if ev := take(t, c, Connected); !ev.Recovered || c.ID() != id {
		t.Errorf("recovered %v, id %s, want %s", ev.Recovered, c.ID(), id)
	}
	if ev := take(t, c, Message); ev.Name != "missed" || string(ev.Args[0]) != "1" {
		t.Errorf("got %s(%s)", ev.Name, ev.Args[0])
	}
	ev := take(t, c, Message)
	if data := binary(t, ev.Args, 0); string(data) != "\x02" {
		t.Errorf("got %s(%s)", ev.Name, ev.Args[0])
	}
	expect.Equal(t, ask[string](t, c, "note?"), "kept", "the session's data is")
}

func npmBrokenFrame(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	must.Do(t, c.Emit("break a frame"))
	if ev := take(t, c, Disconnected); ev.Reason != TransportError || ev.Err == nil {
		t.Errorf("got %q, %v; want a transport error with its cause", ev.Reason, ev.Err)
	}
	take(t, c, Reconnecting)
	take(t, c, Connected)
}

func npmPeerThatTakesNothing(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{SendBuffer: 1 << 20})
	call(t, c, "stop reading")
	defer readAgain(t, address)
	data := make(Binary, 256<<10)
	var err error
	const enough = 400 // 100 MiB, more than any system holds for a socket
	for range enough {
		if err = c.Emit("never answered", data); err != nil {
			break
		}
		time.Sleep(time.Millisecond) // let the writer write
	}
	if !errors.Is(err, ErrBufferFull) {
		t.Errorf("got %v, want ErrBufferFull", err)
	}
	if c.ID() == "" {
		t.Error("a full buffer has cost the connection")
	}
	// The server still reads nothing, so that only Close's own limit ends it.
	start := time.Now()
	must.Do(t, c.Close())
	if took := time.Since(start); took > patience {
		t.Errorf("Close took %v, its limit is %v", took, flushTimeout)
	}
}

func npmRefusedSocket(t *testing.T, address string) {
	c := must.Get(NewClient(address, ClientOptions{
		Path: "/refuse", Query: map[string]string{"secret": "hush"},
		ReconnectAttempts: new(1), ReconnectDelay: time.Millisecond,
	}))(t)
	defer c.Close()
	c.Open()
	for range 2 {
		ev := take(t, c, ConnectError)
		if strings.Contains(ev.Err.Error(), "hush") || strings.Contains(ev.Err.Error(), address) {
			t.Errorf("the error repeats the address: %v", ev.Err)
		}
		if ev := <-c.Events(); ev.Kind != Reconnecting && ev.Kind != ReconnectFailed {
			t.Errorf("got %v", ev.Kind)
		}
	}
	takeEnd(t, c)
	awaitOpenSockets(t, address, 0)
}

func npmTooLargeMessage(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{MaxMessage: 100_000})
	must.Do(t, c.Emit("large", 99_000))
	take(t, c, Message)
	must.Do(t, c.Emit("large", 100_000))
	ev := take(t, c, Disconnected)
	if ev.Reason != ParseError || !errors.Is(ev.Err, errTooBig) {
		t.Errorf("got %q, %v", ev.Reason, ev.Err)
	}
	takeEnd(t, c)
	awaitOpenSockets(t, address, 0)
}

func npmAbandonedDial(t *testing.T, address string) {
	c := must.Get(NewClient(address, ClientOptions{Path: "/slow", ConnectTimeout: 100 * time.Millisecond, ReconnectAttempts: new(0)}))(t)
	defer c.Close()
	c.Open()
	if ev := take(t, c, ConnectError); !errors.Is(ev.Err, errConnectTimeout) {
		t.Errorf("got %v", ev.Err)
	}
	takeEnd(t, c)
	awaitOpenSockets(t, address, 0)
}

func npmCloseWhileDialling(t *testing.T, address string) {
	for range 5 {
		c := must.Get(NewClient(address, ClientOptions{Path: "/plain"}))(t)
		c.Open()
		must.Do(t, c.Close())
		takeEnd(t, c)
	}
	awaitOpenSockets(t, address, 0)
}

func npmConnectionRefused(t *testing.T, _ string) {
	c := must.Get(NewClient("http://127.0.0.1:9", ClientOptions{ReconnectAttempts: new(0)}))(t) // the discard port
	defer c.Close()
	c.Open()
	take(t, c, ConnectError)
	takeEnd(t, c)
}

func npmConcurrentEmits(t *testing.T, address string) {
	c := npmClient(t, address, "/plain", ClientOptions{})
	const writers, each = 4, 200
	for w := range writers {
		go func() {
			for i := range each {
				c.Emit("echo", w, i, Binary{byte(w)})
			}
		}()
	}
	var next [writers]int
	for range writers * each {
		ev := take(t, c, Message)
		var w, i int
		must.Do(t, errors.Join(ev.Args.Decode(0, &w), ev.Args.Decode(1, &i)))
		data := binary(t, ev.Args, 2)
		if i != next[w] || len(data) != 1 || data[0] != byte(w) {
			t.Fatalf("writer %d: got number %d with %v, want %d", w, i, data, next[w])
		}
		next[w]++
	}
}
