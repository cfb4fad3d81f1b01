// Command stream measures how long a page takes for a streamed answer: it compares the four
// ways of the runtime with a plain JavaScript parser of the same reply (page/measure.js),
// alternately in one page. The server sends the reply from memory. It prints a table of
// medians.
//
// Usage, in e2e/, after `make build`:
//
//	go run ./bench/stream -rows converse -runs 3
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/e2e/browsertest"
)

// ways are the rows: the functions of page/measure.js, and their goals.
var ways = []struct {
	name string
	goal figures.Goal
}{
	{"converse", figures.Goal{Of: figures.Ratio, Bound: 5}},
	{"streamText", figures.Goal{Of: figures.Ratio, Bound: 8}},
	{"sendText", figures.Goal{}},
	{"events", figures.Goal{}},
}

func main() { figures.Main(run) }

func run(ctx context.Context) error {
	var names []string
	for _, way := range ways {
		names = append(names, way.name)
	}
	only := flag.String("rows", strings.Join(names, ","), "`ways` to measure, separated by commas")
	runs := flag.Int("runs", 11, "`number` of runs of each way")
	segments := flag.Int("segments", 20_000, "`number` of segments of the answer")
	file := flag.String("json", "", "`file` for the rows")
	flag.Parse()
	selected, err := figures.Select(*only, names)
	if err != nil {
		return err
	}

	if _, err := os.Stat("../js/dist/agentruntime.wasm"); err != nil {
		return errors.New("js/dist is not built; `make build` does that")
	}
	server := httptest.NewServer(handler(*segments))
	defer server.Close()
	browser, err := browsertest.Start(ctx, browsertest.Options{})
	if err != nil {
		return err
	}
	defer browser.Close()
	p, err := browser.NewPage(ctx, server.URL+"/e2e/bench/stream/page/")
	if err != nil {
		return err
	}
	defer p.Close()

	var rows []figures.Row
	fmt.Print(figures.Head)
	for _, way := range ways {
		if !slices.Contains(selected, way.name) {
			continue
		}
		log.Printf("%s: %d runs", way.name, *runs)
		times := map[string][]float64{}
		for range *runs {
			last := map[string]float64{}
			// The first run of plain does not count: in it, the garbage of the other way is
			// collected. A forced collection would discard compiled functions too.
			for _, name := range []string{"plain", "plain", way.name} {
				var f struct {
					Ms       float64
					Segments int
				}
				if err := p.Eval(ctx, `import("/e2e/bench/stream/page/measure.js").then(({measure}) => measure("`+name+`"))`, &f); err != nil {
					return fmt.Errorf("%s: %w; the console: %v", name, err, p.Console())
				}
				if f.Segments != *segments {
					return fmt.Errorf("%s: %d segments of %d", name, f.Segments, *segments)
				}
				last[name] = f.Ms
			}
			for name, ms := range last {
				times[name] = append(times[name], ms)
			}
		}
		row := figures.Row{
			What: fmt.Sprintf("%d segments, %s", *segments, way.name), Unit: "ms", Runs: *runs, Goal: way.goal,
			Ours: figures.Median(times[way.name]), JavaScript: figures.Median(times["plain"]),
		}
		fmt.Print(row)
		rows = append(rows, row)
	}
	return figures.Save(*file, rows)
}

// handler serves the files of the project, and the same answer to every question.
func handler(segments int) http.Handler {
	reply := answer(segments)
	mux := http.NewServeMux()
	files := http.FileServerFS(os.DirFS(".."))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".wasm") {
			w.Header().Set("Content-Type", "application/wasm")
		}
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST /assistant/converse", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
		_, _ = w.Write(reply) // the client may have left
	})
	mux.HandleFunc("POST /thread/session_completed", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{}")
	})
	return mux
}

// answer returns a reply of the service (protocol §9.3) with the given number of segments.
func answer(segments int) []byte {
	type segment struct {
		Role          string  `json:"role"`
		Type          string  `json:"type"`
		Content       string  `json:"content"`
		SegmentNumber int     `json:"segmentNumber"`
		ET            float64 `json:"et"`
		ThreadID      string  `json:"threadId,omitempty"`
		MessageID     string  `json:"messageId,omitempty"`
		SegmentStart  bool    `json:"segmentStart,omitempty"`
		IsFinal       bool    `json:"isFinal,omitempty"`
	}
	words := strings.Fields("A thread is the stored dialogue of one visitor with one agent and it survives the session.")
	var reply bytes.Buffer
	encoder := json.NewEncoder(&reply)
	for i := range segments {
		s := segment{Role: "assistant", Type: "text", Content: words[i%len(words)] + " ", SegmentNumber: 1, ET: float64(i) / 100, SegmentStart: i == 1}
		switch i {
		case 0:
			s = segment{Role: "assistant", Type: "think", ThreadID: "5f0c6c1e-thread", MessageID: "m-10", SegmentStart: true}
		case segments - 1:
			s = segment{Role: "assistant", Type: "think", SegmentNumber: 2, ET: s.ET, IsFinal: true}
		}
		_ = encoder.Encode(s) // can't fail: s has a JSON form, and a buffer accepts every write
	}
	return reply.Bytes()
}
