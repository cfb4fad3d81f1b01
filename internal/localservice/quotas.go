package localservice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/api"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
)

// Quotas bound what one token, one client's address and all clients together may use. In
// each limit, 0 means the default and a negative number no limit.
type Quotas struct {
	// Calls are pictures with a voice, or voices alone, at once. Their total is
	// [Options.MaxCalls].
	Calls quota.Limit
	// Peers are the WebRTC peers at once: one for each picture or voice that is watched,
	// one for each microphone. Microphones may have half of the total.
	Peers quota.Limit
	// Offers are the session descriptions for which a peer is made, in a minute.
	Offers quota.Limit
	// Sockets are control sockets at once, with those that wait for their client to
	// reconnect.
	Sockets quota.Limit
	// Work are milliseconds of the processor in a second, as they are estimated for what a
	// client requests. More has to wait, see [quota.Pace]. The limit for a token does not
	// apply to that of an administrator, and the total has no effect.
	Work quota.Limit
	// SocketBytes are the bytes at once of messages to control sockets that have not
	// arrived completely. Its limit for a token has no effect.
	SocketBytes quota.Limit
	// Relay are relayed addresses at once, for a login instead of a token. RelayConns are
	// TCP connections to an address of the relay at once; their limit for a token has no
	// effect. The connections of HTTP and control sockets have [Options.Limits].
	Relay, RelayConns quota.Limit
	// BodyBytes are the bytes at once of HTTP requests that are not answered yet, and Bodies
	// those in an hour.
	BodyBytes, Bodies quota.Limit
	// Threads are new threads and shared messages in an hour. Turns are questions in an hour; each 1,000 bytes
	// of one count like a question.
	Threads, Turns quota.Limit
}

// QuotaInfo describes one of the [Quotas].
type QuotaInfo struct {
	Name    string // of the flag and the table in docs/security.md
	What    string
	Why     string
	Default quota.Limit

	field func(*Quotas) *quota.Limit
}

// In returns the limit in q.
func (i QuotaInfo) In(q *Quotas) *quota.Limit { return i.field(q) }

// QuotaInfos describes all quotas, with the defaults for a number of calls. A single token
// or address never takes everything: a page needs one socket, one call, two peers, eight
// relayed addresses and as many connections, and an address may be that of many visitors.
func QuotaInfos(maxCalls int) []QuotaInfo {
	return []QuotaInfo{
		{
			"calls", "pictures with a voice, or voices alone, at once", "each draws 25 frames a second",
			quota.Limit{Token: max(1, maxCalls/8), Address: max(1, maxCalls*3/4), Total: maxCalls},
			func(q *Quotas) *quota.Limit { return &q.Calls },
		},
		{
			"peers", "WebRTC peers at once, microphones at most half of the total", "each has about ten goroutines and buffers for packets",
			quota.Limit{Token: 64, Address: 768, Total: 1024},
			func(q *Quotas) *quota.Limit { return &q.Peers },
		},
		{
			"offers", "WebRTC offers in a minute", "the answer to one takes a few milliseconds of the processor",
			quota.Limit{Token: 240, Address: 6000},
			func(q *Quotas) *quota.Limit { return &q.Offers },
		},
		{
			"sockets", "control sockets at once, also while they can be recovered", "each keeps a session and the events for its recovery",
			quota.Limit{Token: 32, Address: 1024, Total: 2048},
			func(q *Quotas) *quota.Limit { return &q.Sockets },
		},
		{
			"work", "estimated milliseconds of the processor in a second: a question and a new socket take 10, a request 1", "others need the processor too",
			quota.Limit{Token: 25},
			func(q *Quotas) *quota.Limit { return &q.Work },
		},
		{
			"socket-bytes", "bytes at once of socket messages that have not arrived completely", "they are kept in memory until the last one has arrived",
			quota.Limit{Address: 48 << 20, Total: 64 << 20},
			func(q *Quotas) *quota.Limit { return &q.SocketBytes },
		},
		{
			"relay-conns", "TCP connections to an address of the relay at once", "each has a file descriptor and a goroutine",
			quota.Limit{Address: 768, Total: 1024},
			func(q *Quotas) *quota.Limit { return &q.RelayConns },
		},
		{
			"relay", "relayed addresses at once, of a login instead of a token", "each has a UDP port",
			quota.Limit{Token: 256, Address: 768, Total: 1024},
			func(q *Quotas) *quota.Limit { return &q.Relay },
		},
		{
			"body-bytes", "bytes at once of HTTP requests that are not answered yet", "they are kept in memory, uploads beyond 1 MiB in temporary files",
			quota.Limit{Token: 48 << 20, Address: 64 << 20, Total: 128 << 20},
			func(q *Quotas) *quota.Limit { return &q.BodyBytes },
		},
		{
			"bodies", "bytes of HTTP requests in an hour, with uploads", "what they bring is stored: files, texts, agents, variables, ratings",
			quota.Limit{Token: 512 << 20, Address: 2000 << 20},
			func(q *Quotas) *quota.Limit { return &q.Bodies },
		},
		{
			"threads", "new threads and shared messages in an hour", "they are stored",
			quota.Limit{Token: 1000, Address: 10_000},
			func(q *Quotas) *quota.Limit { return &q.Threads },
		},
		{
			"turns", "questions in an hour, where each 1,000 bytes count like one", "they and their answers are stored, and the brain works on each",
			quota.Limit{Token: 3600, Address: 100_000},
			func(q *Quotas) *quota.Limit { return &q.Turns },
		},
	}
}

func (q *Quotas) setDefaults(maxCalls int) {
	for _, info := range QuotaInfos(maxCalls) {
		limit := info.In(q)
		*limit = limit.Or(info.Default)
	}
	q.Calls.Total = maxCalls
}

// Set reads "name=token/address/total", as in "sockets=64/2000/3000". A number that is
// missing or 0 leaves the default; a negative one is no limit.
func (q *Quotas) Set(text string) error {
	name, numbers, _ := strings.Cut(text, "=")
	infos := QuotaInfos(0)
	i := slices.IndexFunc(infos, func(i QuotaInfo) bool { return i.Name == name })
	if i < 0 {
		var names []string
		for _, info := range infos {
			names = append(names, info.Name)
		}
		return fmt.Errorf("there is no quota %q, want one of %s", name, strings.Join(names, ", "))
	}
	limit := infos[i].In(q)
	parts := strings.Split(numbers, "/")
	fields := []*int{&limit.Token, &limit.Address, &limit.Total}
	if numbers == "" || len(parts) > len(fields) {
		return fmt.Errorf("quota %s: want numbers for a token, an address and all, as in %s=10/100/1000", name, name)
	}
	for i, part := range parts {
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("quota %s: %q is not a number", name, part)
		}
		*fields[i] = n
	}
	return nil
}

// newBodies returns the check of the two quotas of bodies: it takes n bytes that a client
// sends, or gives back -n of those at once.
func newBodies(q *Quotas) func(by quota.Client, n int) error {
	atOnce := &quota.Count{Limit: q.BodyBytes}
	hour := &quota.Rate{Limit: q.Bodies, Window: time.Hour}
	return func(by quota.Client, n int) error {
		switch {
		case n < 0:
			atOnce.Free(by, -n)
		case !atOnce.Take(by, n):
			return api.ErrBodiesAtOnce
		case !hour.Take(by, n):
			atOnce.Free(by, n)
			return dialogue.ErrBusy
		}
		return nil
	}
}
