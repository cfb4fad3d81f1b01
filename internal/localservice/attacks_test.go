package localservice_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
)

// TestRequestsInOneConnectionStayApart: each of many requests that are sent at once gets one
// reply, in order, and what can be read as one request or as two is refused.
func TestRequestsInOneConnectionStayApart(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{}).Info()
	const many = 100
	c := rawhttp.Dial(t, info.GenieURL)
	go func() {
		for i := range many {
			fmt.Fprintf(c, "GET /nothing%d HTTP/1.1\r\nHost: localhost\r\n\r\nGET /service.json HTTP/1.1\r\nHost: localhost\r\n\r\n", i) //nolint:errcheck // a reply would be missing below
		}
	}()
	replies := bufio.NewReader(c)
	for i := range 2 * many {
		reply := must.Get(http.ReadResponse(replies, nil))(t)
		_, err := io.Copy(io.Discard, reply.Body)
		if want := []int{http.StatusNotFound, http.StatusOK}[i%2]; err != nil || reply.StatusCode != want {
			t.Fatalf("reply %d: status %d, want %d, %v", i, reply.StatusCode, want, err)
		}
	}
	hidden := "GET /service.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, header := range map[string]string{
		"two lengths":             "Content-Length: 0\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n",
		"a list of lengths":       "Content-Length: 0, " + fmt.Sprint(len(hidden)) + "\r\n",
		"a negative length":       "Content-Length: -1\r\n",
		"an unknown coding":       "Transfer-Encoding: chunked, identity\r\n",
		"a coding with a space":   "Transfer-Encoding : chunked\r\n",
		"two codings":             "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"a line that is folded":   "X: y\r\n Content-Length: 5\r\nContent-Length : 3\r\n",
		"two hosts":               "Host: 127.0.0.1\r\n",
		"a header without a name": ": x\r\n",
		"a NUL":                   "X: a\x00b\r\n",
	} {
		c := rawhttp.Dial(t, info.GenieURL)
		must.Get(io.WriteString(c, "POST /assistant/converse HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n"+hidden))(t)
		replies := bufio.NewReader(c)
		reply, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = io.Copy(io.Discard, reply.Body)
		if err != nil || reply.StatusCode != http.StatusBadRequest && reply.StatusCode != http.StatusNotImplemented {
			t.Errorf("%s: status %d, %v", name, reply.StatusCode, err)
		}
		if _, err := replies.ReadByte(); err == nil {
			t.Errorf("%s: there is another reply", name)
		}
	}
	for _, headers := range []string{strings.Repeat("A:\r\n", 100_000), strings.Repeat("Cookie: a=b\r\n", 10_000), "X: " + strings.Repeat("x", 1<<20) + "\r\n"} {
		if reply, _ := rawhttp.Send(t, info.GenieURL, "GET /service.json HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n"); reply.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d bytes of headers: status %d", len(headers), reply.StatusCode)
		}
	}
}

// TestWildcardsAreText: an id or a filter that a database would read as a pattern finds
// nothing, for any kind of token.
func TestWildcardsAreText(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{Script: script(fine)}).Info()
	for _, user := range []string{"ann", "100%", "a_n"} {
		if status, reply := postJSON(t, info.GenieURL+"/assistant/converse", conversationToken(t, info, "silent", user), `{"userMessage":"Hello"}`); status != http.StatusOK {
			t.Fatal(status, reply)
		}
	}
	patterns := []string{"%", "_", "*", "a%", "' OR 1=1 --", `" OR ""="`, "a\x00", "$.a", "NULL", "ANN"}
	for _, ks := range []string{conversationToken(t, info, "silent", "eve"), conversationToken(t, info, "silent", "%"), adminToken(t, info)} {
		for _, pattern := range patterns {
			text := must.Get(json.Marshal(pattern))(t)
			for _, path := range []string{"/v1/thread/get", "/v1/thread/delete", "/v1/thread/get_transcripts", "/thread/session_completed", "/message/get", "/message/share"} {
				if status, reply := postJSON(t, info.GenieURL+path, ks, `{"id":`+string(text)+`,"newTitle":"x"}`); status < 400 || status >= 500 {
					t.Errorf("%s of %q: status %d: %s", path, pattern, status, reply)
				}
			}
			for _, field := range []string{"idEquals", "idsIn", "agentIdEquals", "contextIdEqual", "userIdEquals", "statusEquals"} {
				status, reply := postJSON(t, info.GenieURL+"/v1/thread/list", ks, `{"filter":{"objectType":"ListThreadFilter","`+field+`":`+string(text)+`}}`)
				if status == http.StatusOK && !strings.Contains(reply, `"totalCount":0`) || status >= 500 {
					t.Errorf("%s %q: status %d: %s", field, pattern, status, reply)
				}
			}
		}
	}
}

// TestUploadsAreNotDecoded: the sizes that the header of a file claims take no memory.
func TestUploadsAreNotDecoded(t *testing.T) {
	info := servicetest.Start(t, localservice.Options{}).Info()
	admin := adminToken(t, info)
	send := func(name, attributes string, data []byte) int {
		var form bytes.Buffer
		fields := multipart.NewWriter(&form)
		file, err := fields.CreateFormFile("file", name)
		if err == nil {
			_, err = file.Write(data)
		}
		if err == nil && attributes != "" {
			err = fields.WriteField("attributes", attributes)
		}
		if err == nil {
			err = fields.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		reply, _ := send(t, http.MethodPost, info.AgenticURL+"/catalog-item/create",
			http.Header{"Authorization": {"KS " + admin}, "Content-Type": {fields.FormDataContentType()}}, form.String())
		return reply.StatusCode
	}
	header := func(text string, size uint32) []byte { return binary.LittleEndian.AppendUint32([]byte(text), size) }
	wav := append(header("RIFF", 0xffffffff), "WAVE"...)
	wav = append(wav, header("fmt ", 16)...)
	for _, field := range []any{uint16(1), uint16(1), uint32(8000), uint32(16000), uint16(2), uint16(16)} {
		wav, _ = binary.Append(wav, binary.LittleEndian, field) // numbers have a size
	}
	large := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\x00\x00\x00"
	png := binary.BigEndian.AppendUint32([]byte(large), 0x2b0a9ca1)
	voice := `{"voice":{"name":"a","description":"b"}}`
	most := watchHeap(t)
	for name, file := range map[string]struct {
		attributes string
		data       []byte
	}{
		"a picture of 2³¹ × 2³¹":        {"", png},
		"a picture without an end":      {"", []byte(large)},
		"sound of 4 GB":                 {voice, append(bytes.Clone(wav), header("data", 0xfffffffe)...)},
		"a chunk of 4 GB":               {voice, append(bytes.Clone(wav), header("LIST", 0xffffffff)...)},
		"a format of 4 GB":              {voice, append(append(header("RIFF", 0xffffffff), "WAVE"...), header("fmt ", 0xffffffff)...)},
		"a thousand empty chunks":       {voice, append(bytes.Clone(wav), bytes.Repeat(header("LIST", 0), 1000)...)},
		"a JPEG of empty segments":      {"", append([]byte("\xff\xd8"), bytes.Repeat([]byte("\xff\xe0\x00\x02"), 1_000_000)...)},
		"attributes without an end":     {strings.Repeat(`{"a":`, 100_000), png},
		"attributes with 100,000 names": {`{"a":{` + strings.TrimSuffix(strings.Repeat(`"":"",`, 100_000), ",") + `}}`, png},
	} {
		began := time.Now()
		status := send("file", file.attributes, file.data)
		if took := time.Since(began); status >= 500 || took > answerTime {
			t.Errorf("%s: status %d after %v", name, status, took)
		}
	}
	if grown := most(); grown > 16<<20 {
		t.Errorf("%d MB stay in use", grown>>20)
	}
}

// TestHostileTextsAreSearched: knowledge that matches everything costs a search little.
func TestHostileTextsAreSearched(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{}).Info()
	admin := adminToken(t, info)
	add := info.GenieURL + "/v1/knowledge/add"
	for name, text := range map[string]string{
		"a word again and again": strings.Repeat("a ", 50_000), "empty sections": strings.Repeat("# a\n", 25_000), "marks": strings.Repeat("[![a](", 25_000),
		"lists in lists": strings.Repeat("> - ", 25_000), "code that does not end": "```\n" + strings.Repeat("a\n", 25_000), "no words": strings.Repeat("́", 50_000),
	} {
		content := must.Get(json.Marshal(text))(t)
		began := time.Now()
		status, reply := postJSON(t, add, admin, `{"name":"`+name+`","config":{"sources":[{"type":"markdown","name":"x","content":`+string(content)+`}]}}`)
		if took := time.Since(began); status >= 500 || took > answerTime {
			t.Errorf("adding %s: status %d after %v: %.100s", name, status, took, reply)
		}
	}
	for _, query := range []string{
		strings.Repeat("a ", 4000), strings.Repeat("x", 8000), `"a" NEAR "b" AND NOT (c*) ^d title:a {a b}:c`, strings.Repeat("a* OR ", 1000), "\x00", strings.Repeat("é", 8000), strings.Repeat("(", 8000),
	} {
		text := must.Get(json.Marshal(query))(t)
		began := time.Now()
		status, reply := postJSON(t, info.GenieURL+"/mcp/search", admin, `{"query":`+string(text)+`,"top_n":50}`)
		if took := time.Since(began); status >= 500 || took > answerTime {
			t.Errorf("searching %.20q: status %d after %v: %.100s", query, status, took, reply)
		}
	}
}

// TestAnAgentIsDeletedDuringATurn: the turn and the socket end or go on, the service goes on.
func TestAnAgentIsDeletedDuringATurn(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{Script: script(`  - {when: {any: true}, steps: [{say: "One. "}, {pause: 300}, {say: "Two."}]}`)}).Info()
	admin := adminToken(t, info)
	post := func(address, ks, body string) map[string]any {
		t.Helper()
		status, text := postJSON(t, address, ks, body)
		var reply map[string]any
		if err := json.Unmarshal([]byte(text), &reply); err != nil || status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", address, status, text)
		}
		return reply
	}
	for range 4 {
		intellect := post(info.GenieURL+"/v1/intellect/add", admin, `{"name":"x"}`)["id"].(float64)
		agent := post(info.AgenticURL+"/agent/create", admin, fmt.Sprintf(`{"displayName":"x","intellect":{"id":%.0f},"avatarIds":[]}`, intellect))["agentId"].(string)
		ks := mint(t, info, "ann", fmt.Sprintf("agentid:%s,geniegpcid:%.0f", agent, intellect))
		socket := intrude(t, info, ks)
		socket.event("join", `{"channel":"room","kaltura":{"ks":"`+ks+`"}}`)
		if !socket.until(`42["joinComplete"`) {
			t.Fatal("not joined")
		}
		socket.event("stvNewSession", `{}`)
		asked := make(chan int)
		go func() {
			status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`)
			asked <- status
		}()
		post(info.AgenticURL+"/agent/delete", admin, `{"agentId":"`+agent+`"}`)
		if status, reply := postJSON(t, info.GenieURL+"/v1/intellect/delete", admin, fmt.Sprintf(`{"id":%.0f}`, intellect)); status >= 500 {
			t.Errorf("deleting the intellect: status %d: %s", status, reply)
		}
		if status := <-asked; status >= 500 {
			t.Errorf("a turn: status %d", status)
		}
		socket.event("approvedPermissions", `{}`)
		socket.event("onTextEntered", `{"text":"Hello","isFinal":true}`)
		_ = socket.ws.CloseNow()
		if status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`); status < 400 || status >= 500 {
			t.Errorf("a turn with a deleted agent: status %d", status)
		}
	}
}

// TestTokensWithHugePrivileges are refused, or are checked in little time.
func TestTokensWithHugePrivileges(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{}).Info()
	genuine := conversationToken(t, info, "silent", "ann")
	for name, ks := range map[string]string{
		"long": strings.Repeat("A", 60_000), "long base64": base64.StdEncoding.EncodeToString(make([]byte, 40_000)),
		"padded": genuine + strings.Repeat("=", 50_000), "twice": genuine + genuine,
		"version": base64.URLEncoding.EncodeToString([]byte("v2|" + jsonNumber(info.PartnerID) + "|" + strings.Repeat("\x00", 40_000))),
	} {
		began := time.Now()
		status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`)
		if took := time.Since(began); status != http.StatusUnauthorized || took > answerTime {
			t.Errorf("%s: status %d after %v", name, status, took)
		}
	}
	agent, _ := info.Agent("silent")
	ks := mint(t, info, "ann", strings.Repeat("a:b,", 1500)+"geniegpcid:"+jsonNumber(agent.ConfigID))
	began := time.Now()
	if status, reply := postJSON(t, info.GenieURL+"/v1/thread/list", ks, `{}`); status >= 500 || time.Since(began) > answerTime {
		t.Errorf("1,500 privileges: status %d after %v: %.100s", status, time.Since(began), reply)
	}
}
