package toolrun

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

func codeTool(code string) *store.ToolDef {
	return &store.ToolDef{Name: "c", ToolConfig: store.ToolConfig{Type: store.CodeTool, Code: code, TimeoutSeconds: 1}}
}

func TestCodeRuns(t *testing.T) {
	r := runner(t, io.Discard)
	vars := map[string]any{"city": "Bonn", "secrets.KEY": "the-secret", "secrets.PIN": "2468", "sys__ks": "djJ8-the-token"}
	for code, want := range map[string]string{
		`function main(c) { return {sum: c.args.a + c.args.b, city: c.variables.city} }`:          `{"city":"Bonn","sum":5}`,
		`const main = ({args}) => [args.a, "ü"]`:                                                  `{"result":[2,"ü"]}`,
		`function main() { return {n: 1002468} }`:                                                 `{"result":"{\"n\":100***}"}`,
		`function main() { return "text" }`:                                                       `{"result":"text"}`,
		`function main(c) { return Object.keys(c.variables) }`:                                    `{"result":["city"]}`,
		`JSON.stringify = () => "{}"; function main() { return {a: 1} }`:                          `{"a":1}`,
		`function main() { return {has: [typeof fetch, typeof require, typeof std, typeof os]} }`: `{"has":["undefined","undefined","undefined","undefined"]}`,
	} {
		expect.Equal(t, string(r.Run(t.Context(), codeTool(code), json.RawMessage(`{"a":2,"b":3}`), vars)), want, "%s", code)
	}
}

// TestCodeIsBounded in time, memory, depth and what it returns.
func TestCodeIsBounded(t *testing.T) {
	r := runner(t, io.Discard)
	for code, want := range map[string]string{
		`function main() { for (;;); }`: "too long",
		`function main() { try { for (;;); } catch { return 1 } finally { for (;;); } }`: "too long",
		`function main() { return /^(a+)+$/.test("a".repeat(40) + "b") }`:                "too long",
		`function main() { let s = "x"; for (;;) s += s }`:                               "the code fails",
		`function main() { const a = []; for (;;) a.push(new Uint8Array(1e6)) }`:         "out of memory",
		`function main() { return new ArrayBuffer(2 ** 31).byteLength }`:                 "the code fails",
		`function main() { return main() }`:                                              "stack",
		`function main() { return "x".repeat(300000) }`:                                  "more than 262144 bytes",
		`function main() { }`:                                                                  "returned nothing",
		`async function main() { return 1 }`:                                                   "not a promise",
		`function main() { throw new Error("no such city") }`:                                  "no such city",
		`function main() { const a = {}; a.a = a; return a }`:                                  "the code fails",
		`import("os"); function main() { return import("std") }`:                               "not a promise",
		`function main() { return globalThis.constructor.constructor("return scriptArgs")() }`: "the code fails",
	} {
		tool, began := codeTool(code), time.Now()
		if want != "too long" {
			tool.TimeoutSeconds = 30 // the code's own limit holds
		}
		got := string(r.Run(t.Context(), tool, nil, nil))
		if !strings.Contains(got, want) || !strings.Contains(got, "error") {
			t.Errorf("%s: %.200s, want %q", code, got, want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: took %v", code, took)
		}
	}
}

// TestCodesRunAtOnce: more than the slots, each with an interpreter of its own.
func TestCodesRunAtOnce(t *testing.T) {
	r := runner(t, io.Discard)
	var running sync.WaitGroup
	for range 3 * codesAtOnce {
		running.Go(func() {
			tool := codeTool(`let n = 0; function main() { for (let i = 0; i < 1e4; i++) n++; return n }`)
			tool.TimeoutSeconds = 30
			if got := string(r.Run(t.Context(), tool, nil, nil)); got != `{"result":10000}` {
				t.Error(got)
			}
		})
	}
	running.Wait()
}
