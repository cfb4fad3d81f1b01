package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestBodiesTakeLittleMoreMemoryThanTheirText when they are decoded, whatever is in them.
func TestBodiesTakeLittleMoreMemoryThanTheirText(t *testing.T) {
	const most = 24 << 20
	v := serve(t, twoThings, nil)
	ks := v.conversation(store.Receptionist, "ann")
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	t.Run("form", func(t *testing.T) {
		for _, piece := range []string{"a&", "%41&", "a[]=1&"} {
			before := allocated()
			reply := must.Get(http.Post(v.url+SessionPrefix+"/service/session/action/start", "application/x-www-form-urlencoded",
				strings.NewReader(strings.Repeat(piece, maxBody/len(piece)))))(t)
			_ = reply.Body.Close()
			if took := allocated() - before; took > most {
				t.Errorf("%s: %d MB, status %d", piece, took>>20, reply.StatusCode)
			}
		}
		http.DefaultClient.CloseIdleConnections()
	})
	for _, piece := range []string{`0,`, `[0],`, `{"":0},`} {
		list := strings.TrimSuffix(strings.Repeat(piece, (maxBody-1000)/len(piece)), ",")
		for path, body := range map[string]string{
			"/assistant/converse":      `{"userMessage":"Hello","request_vars":{"a":[` + list + `]}}`,
			"/assistant/tool_response": `{"tool_name":"a","tool_id":"a","tool_invocation_id":"a","response":{"a":[` + list + `]}}`,
			"/v1/thread/list":          `{"filter":{"idsIn":[` + list + `]}}`,
			"/assistant/abort":         `{"threadId":[` + list + `]}`,
		} {
			if !json.Valid([]byte(body)) {
				t.Fatal("the body is no JSON")
			}
			before := allocated()
			got := v.post(path, ks, body)
			if took := allocated() - before; took > most {
				t.Errorf("%s with %d values %s: %d MB, status %d", path, len(list)/len(piece), piece, took>>20, got.status)
			}
			if got.status == http.StatusInternalServerError {
				t.Errorf("%s: status %d", path, got.status)
			}
		}
	}
}

// TestBodiesAreUTF8: what the service keeps as it came is in later replies.
func TestBodiesAreUTF8(t *testing.T) {
	m := serve(t, nil, nil).manager()
	about := fmt.Sprintf(`"agentId":%q`, m.agents[store.Silent].ID)
	m.refuses("/v1/agent/update", `{`+about+`,"widgetConfig":{"a":"`+"\xff"+`"}}`, 400, "json_invalid")
	if got := m.post("/v1/agent/get", m.ks, `{`+about+`}`); !utf8.ValidString(got.body) {
		t.Errorf("the reply is no JSON: %q", got.body)
	}
}
