package localservice_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
	"github.com/agentruntime/agentruntime/pageserver"
)

// amount is a number of a unit.
type amount struct {
	n    float64
	unit string
}

func (a amount) String() string { return fmt.Sprintf("%s %s", number(int(a.n+0.5)), a.unit) }

func megabytes(n int64) amount       { return amount{float64(n) / (1 << 20), "MB"} }
func seconds(d time.Duration) amount { return amount{d.Seconds(), "s"} }

// limitRow is a row of the table in docs/security.md: what one client with one token can
// take, and for how long.
type limitRow struct {
	resource, attack string
	bound            amount
	until            string
	measure          func(*testing.T) amount // nil where the tests that are named in proof measure
	proof            string
}

// limitRows are what the service bounds; the numbers of the quotas are those in QuotaInfos.
func limitRows() []limitRow {
	var q localservice.Quotas
	for _, info := range localservice.QuotaInfos(localservice.DefaultMaxCalls) {
		*info.In(&q) = info.Default
	}
	return []limitRow{
		{"processor", "offers at the limit", amount{3, "s of a core"}, "in each minute", offersAtTheLimit, ""},
		{"processor", "questions at the limit", amount{1, "s of a core"}, "in each 10 s", questionsAtTheLimit, ""},
		{"memory", "control sockets with half a packet each", megabytes(int64(q.SocketBytes.Address) + 16<<20), "30 s", func(t *testing.T) amount { return halfPackets(t, q.Sockets.Token, 1) }, ""},
		{"memory", "200 such sockets with tokens of their own", amount{100, "MB"}, "30 s", func(t *testing.T) amount { return halfPackets(t, 1, 200) }, ""},
		{"memory", "60 slow bodies", megabytes(int64(q.BodyBytes.Token) + 48<<20), "30 s", slowBodies, ""},
		{"memory", "60 slow readers of an uploaded file", amount{120, "MB"}, "5 min", nil, "`TestSlowReadersOfOneFile`"},
		{"sockets", "control sockets that never join", amount{float64(q.Sockets.Token), "sockets"}, seconds(live.DefaultJoin).String(), nil, "`TestSocketsOfATokenAreCounted`, `TestSocketsThatAreNotUsedAreClosed`"},
		{"peers", "microphones and viewers that never connect", amount{float64(q.Peers.Token), "peers"}, "15 s", nil, "`TestMicrophonesLeaveRoomForViewers`, `TestMicrophoneThatNeverConnectsIsFreed`"},
		{"peers", "relayed addresses of one login", amount{float64(q.Relay.Token), "UDP ports"}, "10 min after the last refresh, 24 h in all", nil, "`TestQuotaIsPerUserAndFreedOnClose`"},
		{"connections", "HTTP and control sockets of one address", amount{pageserver.DefaultPerAddress, "connections"}, "2 min without a request", nil, "`TestConnectionsOfOneAddress`, `TestSlowClientsOfEveryRoute`"},
		{"calls", "pictures with a voice that are not watched", amount{float64(q.Calls.Token), "calls"}, seconds(live.DefaultUnwatched).String(), nil, "`TestQuotasLeaveRoomForOthers`"},
		{"disk", "questions of 1,000 bytes, each in a thread of its own, up to " + number(q.Threads.Token), amount{40, "MB"}, "in each hour; kept until the thread is deleted", func(t *testing.T) amount { return stored(t, q.Threads.Token, "") }, ""},
		{"disk", "questions of 1,000 bytes in one thread, " + number(q.Turns.Token/2), amount{40, "MB"}, "in each hour; kept until the thread is deleted", func(t *testing.T) amount { return stored(t, q.Turns.Token/2, "thread") }, ""},
		{"disk", "uploads, texts, variables, ratings", megabytes(int64(q.Bodies.Token)), "in each hour; kept until they are deleted", nil, "`TestBodiesAreCounted`"},
		{"disk", "all clients together (`-max-data`)", megabytes(localservice.DefaultMaxData), "kept until it is deleted", nil, "`TestTheDatabaseHasALimit`"},
	}
}

var alone = flag.Bool("alone", false, "TestWhatOneClientTakes measures; nothing else may run, and no race detector")

// TestWhatOneClientTakes measures the rows of the table in docs/security.md, which has them
// as they are declared. It is not parallel, because it measures the process.
func TestWhatOneClientTakes(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| Of | By | At most | For how long | Measured by |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range limitRows() {
		proof := row.proof
		if row.measure != nil {
			proof = "`TestWhatOneClientTakes`"
			t.Run(row.attack, func(t *testing.T) {
				if !*alone {
					t.Skip("measures time and memory of a minute; make newcomer runs it with -alone")
				}
				got := row.measure(t)
				t.Logf("measured: %s by %s: %.2f %s, at most %v", row.resource, row.attack, got.n, got.unit, row.bound)
				if got.n > row.bound.n || got.unit != row.bound.unit {
					t.Errorf("%.2f %s, want at most %v", got.n, got.unit, row.bound)
				}
			})
		}
		fmt.Fprintf(&table, "| %s | %s | %v | %s | %s |\n", row.resource, row.attack, row.bound, row.until, proof)
	}
	table.WriteString("\n")
	documented(t, "../../docs/security.md", "TestWhatOneClientTakes", table.String())
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// offersAtTheLimit sends a stream as many offers as are answered in a minute, and as many
// again.
func offersAtTheLimit(t *testing.T) amount {
	c := enterBare(t, localservice.Options{})
	pc := must.Get(webrtc.NewPeerConnection(webrtc.Configuration{}))(t)
	defer pc.Close()
	must.Get(pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo))(t)
	description := must.Get(pc.CreateOffer(nil))(t)
	before, answered, refused := processorTime(t), 0, 0
	for refused < 60 {
		if post(t, c.video, description.SDP) == http.StatusCreated {
			answered++
		} else {
			refused++
		}
	}
	if answered == 0 {
		t.Error("no offer was answered")
	}
	return amount{(processorTime(t) - before).Seconds(), "s of a core"}
}

// bare is a bare socket with a call.
type bare struct {
	*intruder
	info  localservice.Info
	ks    string
	video string // address of the picture
}

func enterBare(t *testing.T, o localservice.Options) *bare {
	t.Helper()
	b := &bare{info: servicetest.Start(t, o).Info()}
	b.ks = initialise(t, b.info, "silent").KS
	b.intruder = intrude(t, b.info, b.ks)
	t.Cleanup(func() { _ = b.ws.CloseNow() })
	if !b.join(b.ks, "") {
		t.Fatal("not joined")
	}
	b.event("stvNewSession", `{"room_id":"room"}`)
	frame, _ := b.read(`42["stvNewSession"`)
	_, rest, _ := strings.Cut(frame, `"webrtc_url":"`)
	b.video, _, _ = strings.Cut(rest, `"`)
	if b.video == "" {
		t.Fatalf("no picture: %s", frame)
	}
	return b
}

// questionsAtTheLimit asks on eight connections for ten seconds, after what is granted at
// once.
func questionsAtTheLimit(t *testing.T) amount {
	info := servicetest.Start(t, localservice.Options{Script: script(fine)}).Info()
	ks := initialise(t, info, "silent").KS
	var asking sync.WaitGroup
	var answered atomic.Int64
	ask := func(until func() bool) {
		for range 8 {
			asking.Go(func() {
				for !until() {
					postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`)
					answered.Add(1)
				}
			})
		}
		asking.Wait()
	}
	ask(func() bool { return answered.Load() >= 15 })
	before, began := processorTime(t), time.Now()
	answered.Store(0)
	ask(func() bool { return time.Since(began) > 10*time.Second })
	t.Logf("%d questions in %v", answered.Load(), time.Since(began).Round(time.Millisecond))
	if n := answered.Load(); n > 50 {
		t.Errorf("%d questions in %v", n, time.Since(began))
	}
	return amount{(processorTime(t) - before).Seconds(), "s of a core"}
}

// halfPackets returns how much memory sockets take that don't complete a packet.
func halfPackets(t *testing.T, sockets, tokens int) amount {
	info := servicetest.Start(t, localservice.Options{}).Info()
	most := watchHeap(t)
	for range tokens {
		ks := initialise(t, info, "silent").KS
		for range sockets {
			i := intrude(t, info, ks)
			t.Cleanup(func() { _ = i.ws.CloseNow() })
			i.send(`452-["userScreenShareShot",{"data":{"_placeholder":true,"num":0}},{"_placeholder":true,"num":1}]`)
			_ = i.ws.Write(t.Context(), websocket.MessageBinary, make([]byte, 900_000)) // fails beyond the limit
		}
	}
	return megabytes(most())
}

// watchHeap returns how much the memory in use has grown since.
func watchHeap(t *testing.T) func() int64 {
	t.Helper()
	before := leaktest.Heap()
	return func() int64 {
		time.Sleep(100 * time.Millisecond) // what was sent last arrives
		return max(0, leaktest.Heap()-before)
	}
}

// slowBodies returns how much memory requests take whose bodies don't end.
func slowBodies(t *testing.T) amount {
	info := servicetest.Start(t, localservice.Options{}).Info()
	ks := initialise(t, info, "silent").KS
	body := bytes.Repeat([]byte(" "), 1_000_000)
	most := watchHeap(t)
	for range 60 {
		c := rawhttp.Dial(t, info.GenieURL)
		fmt.Fprintf(c, "POST /assistant/converse HTTP/1.1\r\nHost: localhost\r\nAuthorization: KS %s\r\nContent-Length: %d\r\n\r\n", ks, len(body)+1) //nolint:errcheck // the service may refuse
		c.Write(body)                                                                                                                                 //nolint:errcheck // the service may refuse
	}
	return megabytes(most())
}

// stored returns how much of the disk that many questions take; 50 of them are asked.
func stored(t *testing.T, questions int, thread string) amount {
	const asked = 50
	dir := t.TempDir()
	open := func() *localservice.Service {
		return servicetest.Start(t, localservice.Options{Data: dir, Script: script(fine), Quotas: localservice.Quotas{Work: quotaOff}})
	}
	closed := func(s *localservice.Service) { // which moves what was logged into the database
		must.Do(t, s.Close())
	}
	closed(open())
	size := func() (sum int64) {
		must.Do(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			file, err := d.Info()
			if err == nil {
				sum += file.Size()
			}
			return err
		}))
		return sum
	}
	before := size()
	service := open()
	info := service.Info()
	ks := conversationToken(t, info, "silent", "ann")
	for i := range asked {
		body := `{"userMessage":"` + strings.Repeat("x", 990) + `"`
		if thread != "" && i > 0 {
			body += `,"threadId":"` + thread + `"`
		}
		status, reply := postJSON(t, info.GenieURL+"/assistant/converse", ks, body+"}")
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, reply)
		}
		if thread != "" && i == 0 {
			_, rest, _ := strings.Cut(reply, `"threadId":"`)
			thread, _, _ = strings.Cut(rest, `"`)
		}
	}
	closed(service)
	return megabytes(max(0, size()-before) * int64(questions) / asked)
}
