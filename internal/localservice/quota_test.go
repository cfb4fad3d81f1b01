package localservice_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pion/turn/v5"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
)

// TestQuotasLeaveRoomForOthers: with one token, and with as many as it likes from
// one address, a client leaves slots and threads for a newcomer.
func TestQuotasLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{MaxCalls: 8, Script: script(fine), Quotas: localservice.Quotas{Threads: quota.Limit{Token: 20}}}).Info()
	call := func(from, ks string) bool {
		s := dialFrom(t, info, from)
		t.Cleanup(func() { _ = s.ws.CloseNow() })
		s.send(`40{"token":"` + ks + `"}`)
		if !s.until(`42["onServerConnected"`) || !s.join(ks, "") {
			t.Fatal("not joined")
		}
		s.event("stvNewSession", `{"room_id":"room"}`)
		for {
			frame, ok := s.read(`42["`)
			switch {
			case !ok:
				t.Fatal("no answer")
			case strings.HasPrefix(frame, `42["stvNewSession"`):
				return true
			case strings.HasPrefix(frame, `42["throwToNoAgent"`):
				return false
			}
		}
	}
	const abuser, newcomer = "127.0.0.2", "127.0.0.3"
	count := func(n int, token func() string) (got int) {
		for range n {
			if call(abuser, token()) {
				got++
			}
		}
		return got
	}
	one := initialise(t, info, "silent").KS
	expect.Equal(t, count(4, func() string { return one }), 1, "one token has of 8 slots")
	expect.Equal(t, count(8, func() string { return initialise(t, info, "silent").KS }), 5, "many tokens of one address have more slots")
	next := initialise(t, info, "silent").KS
	if !call(newcomer, next) {
		t.Error("the newcomer gets no slot")
	}

	begin := func(ks string) int {
		status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`)
		return status
	}
	status := http.StatusOK
	for i := 0; i < 30 && status == http.StatusOK; i++ {
		status = begin(one)
	}
	expect.Equal(t, status, http.StatusTooManyRequests, "the last of 30 threads of a token: status")
	expect.Equal(t, begin(next), http.StatusOK, "the newcomer's thread: status")
}

var write = flag.Bool("write", false, "write the tables of docs/local-service.md and docs/security.md")

// TestQuotasAreDocumented: docs/local-service.md has the quotas as they are declared.
func TestQuotasAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| `-quota` | What | For a token | For an address | For all | Because |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, info := range localservice.QuotaInfos(localservice.DefaultMaxCalls) {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", info.Name, info.What,
			number(info.Default.Token), number(info.Default.Address), number(info.Default.Total), info.Why)
	}
	table.WriteString("\n")
	documented(t, "../../docs/local-service.md", "TestQuotasAreDocumented", table.String())
}

// documented compares a table with that of a document, after a comment that names the test,
// or writes it there.
func documented(t *testing.T, file, test, table string) {
	t.Helper()
	const end = "<!-- end of the table -->"
	text := must.Get(os.ReadFile(file))(t)
	start := "<!-- go test -run " + test
	head, rest, _ := strings.Cut(string(text), start)
	mark, rest, _ := strings.Cut(rest, "-->\n")
	old, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("there is no place for the table")
	}
	if *write {
		text = []byte(head + start + mark + "-->\n" + table + end + tail)
		must.Do(t, os.WriteFile(file, text, 0o644))
	} else if old != table {
		t.Errorf("%s is not as declared; the flag -write writes it:\n%s", file, table)
	}
}

// number returns a limit as it is written in a document.
func number(n int) string {
	if n < 1 {
		return "–"
	}
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func TestQuotaFlag(t *testing.T) {
	t.Parallel()
	var q localservice.Quotas
	for _, text := range []string{"sockets=64", "peers=/2000/3000", "turns=-1"} {
		if err := q.Set(text); err != nil {
			t.Error(err)
		}
	}
	if q.Sockets != (quota.Limit{Token: 64}) || q.Peers != (quota.Limit{Address: 2000, Total: 3000}) || q.Turns != (quota.Limit{Token: -1}) {
		t.Errorf("got %+v", q)
	}
	for _, text := range []string{"", "sockets", "sockets=", "sockets=a", "sockets=1/2/3/4", "socket=1"} {
		if err := q.Set(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// TestTurnsAreCounted by their size.
func TestTurnsAreCounted(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{Script: script(fine), Quotas: localservice.Quotas{Turns: quota.Limit{Token: 5}}}).Info()
	ks := initialise(t, info, "silent").KS
	ask := func(text string) int {
		status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"`+text+`"}`)
		return status
	}
	for i, want := range []int{200, 200, 429, 200, 429} {
		text := "Hello"
		if i == 1 || i == 2 {
			text = strings.Repeat("x", 2000)
		}
		expect.Equal(t, ask(text), want, "turn %d: status", i)
	}
}

// TestSocketsOfATokenAreCounted, also those that are gone and may be recovered.
func TestSocketsOfATokenAreCounted(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{Quotas: localservice.Quotas{Sockets: quota.Limit{Token: 2}}}).Info()
	ks := initialise(t, info, "silent").KS
	enter := func(ks string) *intruder {
		s := dialSocket(t, info)
		t.Cleanup(func() { _ = s.ws.CloseNow() })
		s.send(`40{"token":"` + ks + `"}`)
		return s
	}
	first, second := enter(ks), enter(ks)
	if !first.until(`42["onServerConnected"`) || !second.until(`42["onServerConnected"`) {
		t.Fatal("not connected")
	}
	_ = second.ws.CloseNow()
	if third := enter(ks); !third.until(`42["throwToNoAgent"`) {
		t.Error("a third socket was let in")
	}
	if other := enter(initialise(t, info, "silent").KS); !other.until(`42["onServerConnected"`) {
		t.Error("the socket of another token was refused")
	}
}

// dialFrom opens a bare socket from one of the addresses of loopback.
func dialFrom(t *testing.T, info localservice.Info, from string) *intruder {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return dialSocketWith(t, info, &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		DisableKeepAlives: true,
	}})
}

// TestBuiltInRelayLogin: everybody knows it, so a service for other machines has none.
func TestBuiltInRelayLogin(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{false, true} {
		info := servicetest.Start(t, localservice.Options{AllowPublic: public}).Info()
		conn := must.Get(net.ListenPacket("udp4", "127.0.0.1:0"))(t)
		c := must.Get(turn.NewClient(&turn.ClientConfig{
			TURNServerAddr: strings.TrimPrefix(info.TURNServerURL, "turn:"), Conn: conn, Username: "kaltura", Password: "avatar",
		}))(t)
		must.Do(t, c.Listen())
		relayed, err := c.Allocate()
		if (err == nil) == public {
			t.Errorf("with public %t the login gives %v", public, err)
		}
		if err == nil {
			_ = relayed.Close()
		}
		c.Close()
		_ = conn.Close()
	}
}

// quotaOff is no limit.
var quotaOff = quota.Limit{Token: -1, Address: -1, Total: -1}

// TestBodiesAreCounted: the bytes of a token's requests in an hour, and those of all of its
// requests that are not answered yet.
func TestBodiesAreCounted(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{Quotas: localservice.Quotas{
		Bodies: quota.Limit{Token: 10_000}, BodyBytes: quota.Limit{Token: 9000, Address: 15_000},
	}}).Info()
	list := info.GenieURL + "/v1/thread/list"
	body := func(size int) string { return `{"filter":null,"x":"` + strings.Repeat("x", size) + `"}` }
	one, other := conversationToken(t, info, "silent", "ann"), conversationToken(t, info, "silent", "ben")
	for i, want := range []int{200, 200, 429} {
		if status, reply := postJSON(t, list, one, body(4000)); status != want {
			t.Errorf("request %d: status %d, want %d: %s", i, status, want, reply)
		}
	}
	if status, _ := postJSON(t, list, other, body(9500)); status != http.StatusServiceUnavailable {
		t.Errorf("a request beyond what a token may send at once: status %d", status)
	}
	slow := rawhttp.Dial(t, info.GenieURL)
	must.Get(fmt.Fprintf(slow, "POST /v1/thread/list HTTP/1.1\r\nHost: localhost\r\nAuthorization: KS %s\r\nContent-Length: 9000\r\n\r\n%s", conversationToken(t, info, "silent", "dan"), body(8000)))(t)
	refused := func() bool {
		status, _ := postJSON(t, list, conversationToken(t, info, "silent", "cleo"), body(8000))
		return status == http.StatusServiceUnavailable
	}
	must.Wait(t, "the limit of one address", refused)
	_ = slow.Close()
	must.Wait(t, "the return of what was taken", func() bool { return !refused() })

	expect.Equal(t, idempotent(t, info, strings.Repeat("k", 201)), http.StatusBadRequest, "a long Idempotency-Key: status")
}

// TestTheDatabaseHasALimit: what all clients store has a bound, at which questions and other
// requests are refused by their own statuses, and what is stored can be read and deleted.
func TestTheDatabaseHasALimit(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	dir := t.TempDir()
	service := servicetest.Start(t, localservice.Options{Data: dir, MaxData: limit, Script: script(fine), Quotas: localservice.Quotas{Work: quotaOff}})
	info := service.Info()
	admin, visitor := adminToken(t, info), conversationToken(t, info, "silent", "ann")
	add := func() (int, string) {
		return postJSON(t, info.GenieURL+"/v1/knowledge/add", admin, `{"name":"`+rand.Text()+`","config":{"sources":[{"type":"text","name":"words","content":"`+strings.Repeat("words ", 10_000)+`"}]}}`)
	}
	var first struct{ ID json.Number }
	for i := range limit {
		status, reply := add()
		if i == 0 {
			if err := json.Unmarshal([]byte(reply), &first); err != nil || first.ID == "" {
				t.Fatalf("status %d: %s", status, reply)
			}
		}
		if status == http.StatusInsufficientStorage {
			break
		}
		if status != http.StatusOK {
			t.Fatalf("text %d: status %d: %s", i, status, reply)
		}
	}
	question := func() int {
		status, _ := postJSON(t, info.GenieURL+"/assistant/converse", visitor, `{"userMessage":"`+strings.Repeat("x", 900)+`"}`)
		return status
	}
	status := question()
	for range 1000 { // the last free pages
		if status != http.StatusOK {
			break
		}
		status = question()
	}
	expect.Equal(t, status, http.StatusServiceUnavailable, "a question that can't be stored: status")
	if status, reply := postJSON(t, info.GenieURL+"/v1/thread/list", visitor, `{}`); status != http.StatusOK {
		t.Errorf("what is stored can't be read: status %d: %s", status, reply)
	}
	if status, reply := postJSON(t, info.GenieURL+"/v1/knowledge/delete", admin, `{"id":`+first.ID.String()+`}`); status != http.StatusOK {
		t.Errorf("what is stored can't be deleted: status %d: %s", status, reply)
	}
	expect.Equal(t, question(), http.StatusOK, "with new room a question has the status")
	must.Do(t, service.Close())
	if file, err := os.Stat(filepath.Join(dir, "localservice.db")); err != nil || file.Size() > limit+8<<20 {
		t.Errorf("the database has %d bytes, want at most %d (%v)", file.Size(), limit, err)
	}
}

// idempotent sends a request with an Idempotency-Key, and returns the status.
func idempotent(t *testing.T, info localservice.Info, key string) int {
	t.Helper()
	reply, _ := fetch(t, http.MethodGet, info.GenieURL+"/assistant/status", http.Header{
		"Authorization": {"KS " + conversationToken(t, info, "silent", "ann")}, "Idempotency-Key": {key},
	})
	return reply.StatusCode
}
