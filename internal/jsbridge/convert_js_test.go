//go:build js && wasm

package jsbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

type base struct {
	ID    string `json:"id"`
	Shade string `json:"shade,omitempty"`
}

type Extra struct {
	Note string `json:"note"`
}

type options struct {
	base
	Extra
	Name    string            `json:"name"`
	Count   int               `json:"count"`
	Small   int8              `json:"small,omitempty"`
	Big     uint64            `json:"big,omitempty"`
	Gain    float64           `json:"gain,omitempty"`
	On      bool              `json:"on"`
	Limit   time.Duration     `json:"limit"`
	Vars    map[string]string `json:"requestVars"`
	List    []inner           `json:"list"`
	Data    []byte            `json:"data"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Any     any               `json:"any,omitempty"`
	Maybe   *inner            `json:"maybe,omitempty"`
	Element js.Value          `json:"element"`
	When    *time.Time        `json:"when,omitempty"`
	Skipped string            `json:"-"`
	hidden  string
	Plain   string
	Token   string `json:"token,omitempty"`
}

type inner struct {
	X float64 `json:"x"`
	Y *inner  `json:"y,omitempty"`
}

func TestStructBothWays(t *testing.T) {
	const text = `{"name":"héllo","count":3,"on":true,"limit":1500.5,"requestVars":{"a":"b"},` +
		`"list":[{"x":1},{"x":2,"y":{"x":3}}],"data":{"0":1,"1":255},"raw":{"k":[1]},"any":{"deep":[true,null]},` +
		`"maybe":{"x":4},"element":5,"when":"2024-02-03T04:05:06Z","Plain":"p","id":"7","note":"n"}`
	v := eval(t, strings.Replace(text, `{"0":1,"1":255}`, "Uint8Array.of(1, 255)", 1))
	v.Set("unknown", 1)
	v.Set("Skipped", "s")
	v.Set("hidden", "h")
	var got options
	must.Do(t, FromJS("options", v, &got))
	when := time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC)
	want := options{
		base: base{ID: "7"}, Extra: Extra{"n"}, Name: "héllo", Count: 3, On: true, Limit: 1500500 * time.Microsecond,
		Vars: map[string]string{"a": "b"}, List: []inner{{X: 1}, {X: 2, Y: &inner{X: 3}}}, Data: []byte{1, 255},
		Raw: json.RawMessage(`{"k":[1]}`), Any: map[string]any{"deep": []any{true, nil}}, Maybe: &inner{X: 4},
		Element: js.ValueOf(5), When: &when, Plain: "p",
	}
	if !reflect.DeepEqual(got, want) || got.hidden != "" {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	back := must.Get(ToJS(want))(t)
	if !back.Get("data").InstanceOf(uint8ArrayCtor) {
		t.Error("data is no Uint8Array")
	}
	if got := jsonStringify.Invoke(back).String(); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
}

func TestAbsentLeavesDefaults(t *testing.T) {
	got := options{Name: "default", Count: 4, Vars: map[string]string{"k": "v"}}
	must.Do(t, FromJS("options", eval(t, "{name: undefined, count: null, requestVars: null, note: undefined}"), &got))
	if got.Name != "default" || got.Count != 4 || got.Vars["k"] != "v" || got.Extra != (Extra{}) {
		t.Errorf("got %+v", got)
	}
	if err := FromJS("options", js.Undefined(), &got); err != nil || got.Count != 4 {
		t.Errorf("undefined options: %v, %+v", err, got)
	}
}

// deep is an expression for options with a value that is nested in n arrays.
func deep(n int) string {
	return fmt.Sprintf(`(() => { let v = 1; for (let i = 0; i < %d; i++) v = [v]; return {any: v} })()`, n)
}

func TestDeepestValue(t *testing.T) {
	var o options
	must.Do(t, FromJS("options", eval(t, deep(maxDepth)), &o))
	if _, err := ToJS(o.Any); err != nil {
		t.Error("on the way back:", err)
	}
}

func TestBadValuesNameTheirPlace(t *testing.T) {
	for expression, want := range map[string]string{
		`7`:                                "options must be an object, got number",
		`[]`:                               "options must be an object, got array",
		`"text"`:                           "options must be an object, got string",
		`{name: 5}`:                        "options.name must be a string, got number",
		`{name: new String("x")}`:          "options.name must be a string, got object",
		`{name: 5n}`:                       "options.name must be a string, got bigint",
		`{name: Symbol()}`:                 "options.name must be a string, got symbol",
		`{id: []}`:                         "options.id must be a string, got array",
		`{note: 1}`:                        "options.note must be a string, got number",
		`{token: 5}`:                       "options.token must be a string, got number",
		`{on: 1}`:                          "options.on must be a boolean, got number",
		`{count: "5"}`:                     "options.count must be a number, got string",
		`{count: 5n}`:                      "options.count must be a number, got bigint",
		`{count: 1.5}`:                     "options.count must be an integer, got 1.5",
		`{count: NaN}`:                     "options.count must be a number, got NaN",
		`{count: -Infinity}`:               "options.count must be a number, got -Inf",
		`{count: 2 ** 53}`:                 "options.count is out of range",
		`{small: 128}`:                     "options.small is out of range",
		`{big: -1}`:                        "options.big is out of range",
		`{gain: NaN}`:                      "options.gain must be a number, got NaN",
		`{gain: "1"}`:                      "options.gain must be a number, got string",
		`{limit: Infinity}`:                "options.limit must be a number, got +Inf",
		`{limit: 1e300}`:                   "options.limit is out of range",
		`{requestVars: {a: {}}}`:           "options.requestVars.a must be a string, got object",
		`{requestVars: ["a"]}`:             "options.requestVars must be an object, got array",
		`{requestVars: "a"}`:               "options.requestVars must be an object, got string",
		`{list: {}}`:                       "options.list must be an array, got object",
		`{list: [{x: 1}, {y: {x: "1"}}]}`:  "options.list[1].y.x must be a number, got string",
		`{data: [1]}`:                      "options.data must be a Uint8Array, got array",
		`{data: 9}`:                        "options.data must be a Uint8Array, got number",
		`{when: "yesterday"}`:              "options.when cannot be converted: ",
		`{get name() { throw Error("x")}}`: "options.name cannot be read: Error: x",
		`{raw: 1n}`:                        "options.raw cannot be read: TypeError: ",
		`{raw: () => 1}`:                   "options.raw must be a JSON value, got function",
		`{any: Symbol()}`:                  "options.any must be a JSON value, got symbol",
		`{any: {get x() { throw "boo" }}}`: "options.any cannot be read: boo",
		deep(101):                          "options.any cannot be converted: the JSON is nested too deeply",
		deep(9000):                         "options.any cannot be converted: the JSON is nested too deeply",
		`(() => { const a = {}; a.self = a; return {any: a} })()`:                                                        "options.any cannot be read: TypeError: ",
		`(() => { const y = {x: 1}; y.y = y; return {maybe: y} })()`:                                                     "options.maybe.y.y",
		`new Proxy({}, {get() { throw new Error("trap") }})`:                                                             "options.",
		`{requestVars: new Proxy({}, {ownKeys() { throw new Error("trap") }})}`:                                          "options.requestVars cannot be read: Error: trap",
		`{list: new Proxy([], {get(o, k) { return k === "length" ? 1e15 : {} }})}`:                                       "options.list is longer than 1048576",
		`{list: new Proxy([], {get(o, k) { return k === "length" ? -1 : {} }})}`:                                         "options.list has no length",
		`{list: new Proxy([], {get(o, k) { return k === "length" ? 1n : {} }})}`:                                         "options.list has no length",
		`{list: new Array(4294967295)}`:                                                                                  "options.list is longer than 1048576",
		`(() => { const p = Proxy.revocable([], {}); p.revoke(); return {list: p.proxy} })()`:                            "options.list must be an array, got object",
		`(() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy })()`:                                    "options.",
		`{data: new Proxy(new Uint8Array(2), {})}`:                                                                       "options.data must be a Uint8Array, got object",
		`{data: {[Symbol.toStringTag]: "ArrayBuffer", length: 1e12}}`:                                                    "options.data must be a Uint8Array, got object",
		`(() => { const d = new Int16Array(4); structuredClone(d.buffer, {transfer: [d.buffer]}); return {data: d} })()`: "options.data must be a Uint8Array, got object",
	} {
		t.Run(expression, func(t *testing.T) {
			var o options
			err := FromJS("options", eval(t, expression), &o)
			if !errors.Is(err, fault.BadRequest) {
				t.Fatalf("error %v", err)
			}
			if got := err.(*fault.Error).Detail; !strings.HasPrefix(got, want) || strings.HasSuffix(want, "got") {
				t.Errorf("detail %q, want %q", got, want)
			}
		})
	}
}

func TestStringsAcrossTheBorder(t *testing.T) {
	for name, s := range map[string]string{
		"empty": "", "ascii": "a\x00b", "emoji": "👩‍🚀", "bom": "\uFEFFtext", "two boms": "\uFEFF\uFEFFx", "bom alone": "\uFEFF",
	} {
		t.Run(name, func(t *testing.T) {
			v := must.Get(ToJS(map[string]string{s: s}))(t)
			var got map[string]string
			if err := FromJS("m", v, &got); err != nil || len(got) != 1 || got[s] != s {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	var got string
	if err := FromJS("s", eval(t, `"a\uD800b"`), &got); err != nil || got != "a\uFFFDb" {
		t.Errorf("lone surrogate: %q, %v", got, err)
	}
	if v, err := ToJS("a\xffb"); err != nil || v.String() != "a\uFFFDb" {
		t.Errorf("invalid UTF-8: %v, %v", v, err)
	}
}

func TestTextIsBounded(t *testing.T) {
	for value, want := range map[string]string{
		`"abcd"`: "abcd", `""`: "", `"😀😀"`: "😀😀",
		`"abcde"`: "none", `"😀😀x"`: "none", "5n": "none", "5": "none", "null": "none", "undefined": "none", `({length: 1n})`: "none",
		`new String("x")`: "none", `["x"]`: "none", `Symbol("x")`: "none",
	} {
		got, ok := Text(eval(t, value), 4)
		if !ok {
			got = "none"
		}
		expect.Equal(t, got, want, "%s", value)
	}
}

func TestIntegersKeepTheirDigits(t *testing.T) {
	var n int64
	if err := FromJS("n", eval(t, "-(2 ** 53 - 1)"), &n); err != nil || n != -maxSafeInteger {
		t.Errorf("got %d, %v", n, err)
	}
	if v, err := ToJS(int64(maxSafeInteger)); err != nil || v.Float() != maxSafeInteger {
		t.Errorf("got %v, %v", v, err)
	}
	for _, big := range []any{int64(maxSafeInteger + 1), int64(math.MinInt64), uint64(math.MaxUint64)} {
		if _, err := ToJS(big); err == nil {
			t.Errorf("%v was converted", big)
		}
	}
}

func TestBytesFromAnyBuffer(t *testing.T) {
	for _, expression := range []string{
		"Uint8Array.of(1, 2)", "new Uint8Array([9, 1, 2, 9]).subarray(1, 3)", "Uint8ClampedArray.of(1, 2)",
		"Uint8Array.of(1, 2).buffer", "new DataView(Uint8Array.of(0, 1, 2).buffer, 1)", "Int16Array.of(0x201)",
	} {
		var got []byte
		if err := FromJS("b", eval(t, expression), &got); err != nil || string(got) != "\x01\x02" {
			t.Errorf("%s: %v, %v", expression, got, err)
		}
	}
}

// Values without a declared type are converted by JSON.stringify.
func TestAnyIsWhatJSONMakesOfIt(t *testing.T) {
	var got map[string]any
	err := FromJS("vars", eval(t, `{date: new Date(0), skip: {f() {}, u: undefined}, n: 1, s: "x", b: false, nil: null}`), &got)
	want := map[string]any{"date": "1970-01-01T00:00:00.000Z", "skip": map[string]any{}, "n": 1.0, "s": "x", "b": false, "nil": nil}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestProtoKeyIsAnOrdinaryKey(t *testing.T) {
	v := must.Get(ToJS(map[string]any{"__proto__": map[string]any{"admin": true}}))(t)
	if !v.Get("admin").IsUndefined() {
		t.Error("the prototype was exchanged")
	}
	if got := jsonStringify.Invoke(v).String(); got != `{"__proto__":{"admin":true}}` {
		t.Errorf("got %s", got)
	}
}

type ring struct {
	Next *ring `json:"next"`
}

// reader and readers have an UnmarshalJSON but no marshaller, so they are written like any
// struct and slice.
type reader struct {
	URLs []string `json:"urls"`
}

func (*reader) UnmarshalJSON([]byte) error { return nil }

type readers []reader

func (*readers) UnmarshalJSON([]byte) error { return nil }

func TestToJSForms(t *testing.T) {
	var nilFault *fault.Error
	for name, test := range map[string]struct {
		v    any
		want string
	}{
		"nil slice":   {struct{ A []int }{}, `{"A":[]}`},
		"nil map":     {struct{ A map[string]int }{}, `{"A":{}}`},
		"nil pointer": {struct{ A *int }{}, `{"A":null}`},
		"nil any":     {struct{ A any }{}, `{"A":null}`},
		"nil raw":     {struct{ A json.RawMessage }{}, `{"A":null}`},
		"nil error":   {struct{ A error }{}, `{"A":null}`},
		"nil fault":   {struct{ A *fault.Error }{nilFault}, `{"A":null}`},
		"code":        {fault.Timeout, `"timeout"`},
		"omitempty": {struct {
			A inner         `json:",omitempty"`
			B string        `json:",omitempty"`
			C time.Duration `json:",omitempty"`
		}{}, `{"A":{"x":0}}`},
		"named slice": {[]fault.Code{fault.Timeout}, `["timeout"]`},
		"reader":      {[]reader{{[]string{"turn:a"}}}, `[{"urls":["turn:a"]}]`},
		"readers":     {struct{ A readers }{readers{{[]string{"b"}}}}, `{"A":[{"urls":["b"]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			v := must.Get(ToJS(test.v))(t)
			if got := jsonStringify.Invoke(v).String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	if v, err := ToJS(math.NaN()); err != nil || !v.IsNaN() {
		t.Errorf("NaN: %v, %v", v, err)
	}
	if v, err := ToJS(nil); err != nil || !v.IsUndefined() {
		t.Errorf("nil: %v, %v", v, err)
	}
	v, err := ToJS(struct{ E error }{fault.New(fault.Timeout, "late")})
	if err != nil || code(v.Get("E")) != fault.Timeout || !v.Get("E").InstanceOf(errorCtor) {
		t.Errorf("error field: %v, %v", v, err)
	}
}

func TestToJSErrorsNameTheirPlace(t *testing.T) {
	loop := &ring{}
	loop.Next = loop
	for want, v := range map[string]any{
		"convert map[string]interface {}: .a[1] has no form in JavaScript (Go type chan int)": map[string]any{"a": []any{1, make(chan int)}},
		"convert []json.RawMessage: [0] cannot be converted: ":                                []json.RawMessage{json.RawMessage("{")},
		"convert *jsbridge.ring: .next.next":                                                  loop,
		"convert struct { F func() }: .F has no form":                                         struct{ F func() }{},
		"convert map[int]string: has no form":                                                 map[int]string{1: "a"},
		"convert map[string]int64: .id is an integer beyond 2^53":                             map[string]int64{"id": 1 << 60},
	} {
		if _, err := ToJS(v); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestEmbeddedNamesAsInJSON(t *testing.T) {
	type deep struct {
		Same string `json:"same"`
		Deep string
	}
	type A struct {
		deep
		Same string `json:"same"`
		Own  string
	}
	type B struct {
		Other string `json:"other"`
		Deep  string
	}
	type outer struct {
		A
		B
		Named A   `json:"named"`
		Other int `json:"other"`
		Deep  int
	}
	v := outer{A: A{Same: "a"}, B: B{Other: "b"}, Other: 1}
	want := must.Get(json.Marshal(v))(t)
	got := must.Get(ToJS(v))(t)
	var wantMap, gotMap map[string]any
	must.Do(t, json.Unmarshal(want, &wantMap))
	must.Do(t, json.Unmarshal([]byte(jsonStringify.Invoke(got).String()), &gotMap))
	if !reflect.DeepEqual(gotMap, wantMap) {
		t.Errorf("got %v, encoding/json has %v", gotMap, wantMap)
	}
}
