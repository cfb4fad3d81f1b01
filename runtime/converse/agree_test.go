package converse

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// The tests of this file run natively and in a page, where JSON is the browser's:
// what a service sends must mean the same in both.

func TestADamagedSegmentIsTheSameEverywhere(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, test := range map[string]struct {
		line string
		want string // "" for none
	}{
		"plain":               {`{"type":"text","content":"a"}`, `{"role":"","type":"text","content":"a","segmentNumber":0,"et":0}`},
		"nothing":             {`{}`, `{"role":"","type":"","content":null,"segmentNumber":0,"et":0}`},
		"null fields":         {`{"type":null,"content":null,"metadata":null,"threadId":null}`, `{"role":"","type":"","content":null,"segmentNumber":0,"et":0}`},
		"other types":         {`{"type":1,"threadId":{},"segmentNumber":"3","et":[],"isFinal":"true","metadata":7}`, `{"role":"","type":"","content":null,"segmentNumber":0,"et":0}`},
		"names in capitals":   {`{"TYPE":"text","Content":"a"}`, `{"role":"","type":"","content":null,"segmentNumber":0,"et":0,"extra":{"Content":"a","TYPE":"text"}}`},
		"prototype":           {`{"type":"x","__proto__":{"a":1},"constructor":2}`, `{"role":"","type":"x","content":null,"segmentNumber":0,"et":0,"extra":{"__proto__":{"a":1},"constructor":2}}`},
		"twice":               {`{"type":"a","type":"b"}`, `{"role":"","type":"b","content":null,"segmentNumber":0,"et":0}`},
		"escaped name":        {`{"\u0074ype":"text"}`, `{"role":"","type":"text","content":"","segmentNumber":0,"et":0}`},
		"spoken object":       {`{"type":"avatar","content":{"a":1}}`, `{"role":"","type":"avatar","content":"{\"a\":1}","segmentNumber":0,"et":0}`},
		"spoken null":         {`{"content":null,"type":"text"}`, `{"role":"","type":"text","content":"","segmentNumber":0,"et":0}`},
		"lone surrogate":      {`{"type":"\ud800x","threadId":"a\udfff"}`, `{"role":"","type":"` + "\uFFFD" + `x","content":null,"segmentNumber":0,"et":0,"threadId":"a` + "\uFFFD" + `"}`},
		"pair":                {`{"type":"\ud83d\ude00"}`, `{"role":"","type":"😀","content":null,"segmentNumber":0,"et":0}`},
		"bytes":               {"{\"type\":\"a\xffb\"}", `{"role":"","type":"a` + "\uFFFD" + `b","content":null,"segmentNumber":0,"et":0}`},
		"byte order mark":     {"{\"type\":\"\uFEFFa\",\"content\":\"\uFEFFb\"}", "{\"role\":\"\",\"type\":\"\uFEFFa\",\"content\":\"\uFEFFb\",\"segmentNumber\":0,\"et\":0}"},
		"escaped order mark":  {`{"type":"\ufeff\"a"}`, "{\"role\":\"\",\"type\":\"\uFEFF\\\"a\",\"content\":null,\"segmentNumber\":0,\"et\":0}"},
		"large number":        {`{"segmentNumber":9007199254740993,"et":1e400}`, `{"role":"","type":"","content":null,"segmentNumber":0,"et":0}`},
		"odd numbers":         {`{"segmentNumber":3.0,"et":-0.5e1}`, `{"role":"","type":"","content":null,"segmentNumber":3,"et":-5}`},
		"list":                {`[]`, ``},
		"mark in front":       {"\uFEFF{}", ``},
		"mark between":        {"{\uFEFF}", ``},
		"no-break space":      {"{\u00a0}", ``},
		"control character":   {"{\"type\":\"a\x01\"}", ``},
		"hexadecimal":         {`{"et":0x10}`, ``},
		"comma":               {`{"et":1,}`, ``},
		"too deep":            {`{"x":` + deep + `}`, ``},
		"deep, but in a text": {`{"type":"` + strings.Repeat("[", 7000) + `"}`, `{"role":"","type":"` + strings.Repeat("[", 7000) + `","content":null,"segmentNumber":0,"et":0}`},
	} {
		seg, ok := Decode([]byte(test.line))
		if !ok {
			expect.Equal(t, test.want, "", "%s: no segment", name)
			continue
		}
		b, err := json.Marshal(seg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := Canonical(b); test.want == "" || got != Canonical(json.RawMessage(test.want)) {
			t.Errorf("%s: %.300s, want %.300s", name, got, test.want)
		}
	}
}

func TestArgumentsAreCheckedTheSameEverywhere(t *testing.T) {
	for _, test := range []struct {
		value string
		types string // that it is
	}{
		{`1`, "int float"},
		{`1.0`, "float"},
		{`1e2`, "float"},
		{`9007199254740993`, "int float"},
		{`1e400`, ""},
		{`"1"`, "str"},
		{`null`, ""},
		{` true `, "bool"},
		{`[]`, "list"},
		{`{}`, "dict"},
	} {
		var got []string
		for _, name := range []string{"str", "int", "float", "bool", "list", "dict"} {
			if len(ArgsSchema{"a": {Type: name}}.Check(json.RawMessage(`{"a":`+test.value+`}`))) == 0 {
				got = append(got, name)
			}
		}
		expect.Equal(t, strings.Join(got, " "), test.types, "%s is %v", test.value, got)
	}
	large := ArgsSchema{"a": {Enum: []any{"x", 2.0}}}
	for args, want := range map[string]int{`{"a":2}`: 0, `{"a":"x"}`: 0, `{"a":"\u0078"}`: 0, `{"a":3}`: 1, `{}`: 0, `[]`: 1, `1`: 1} {
		expect.Len(t, large.Check(json.RawMessage(args)), want, "%s", args)
	}
}

func TestARequestIsWrittenTheSameEverywhere(t *testing.T) {
	b, err := json.Marshal(Request{
		UserMessage: "\uFEFF<a> \u2028\xff", SSE: true,
		RequestVars: map[string]any{"__proto__": "p", "n": nil, "i": 1 << 40, "f": 1e21, "t": "\uFEFF"},
	})
	want := "{\"request_vars\":{\"__proto__\":\"p\",\"f\":1e+21,\"i\":1099511627776,\"n\":null,\"t\":\"\uFEFF\"}," +
		"\"sse\":true,\"userMessage\":\"\uFEFF\\u003ca\\u003e \\u2028\uFFFD\"}"
	if err != nil || Canonical(b) != Canonical(json.RawMessage(want)) {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	if b, err = json.Marshal(Request{UserMessage: "a", RequestVars: map[string]any{}}); err != nil || Canonical(b) != `{"sse":false,"userMessage":"a"}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestAWidgetIsReadTheSameEverywhere(t *testing.T) {
	for text, want := range map[string]map[string]any{
		`{"a":1,"A":2,"__proto__":{"x":1},"b":{"constructor":1,"c":null}}`: {"a": 1.0, "A": 2.0, "b": map[string]any{"c": nil}},
		"{\"\uFEFFa\":\"\uFEFFb\"}":                                        {"\uFEFFa": "\uFEFFb"},
		`{"\ud800":"\ud800"}`:                                              {"\uFFFD": "\uFFFD"},
		`[null,"x"]`:                                                       {"items": []any{nil, "x"}},
		`{"n":1e400}`:                                                      nil,
		`{"n":`:                                                            nil,
	} {
		got, _ := parseJSON(text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, want %#v", text, got, want)
		}
	}
}

// TestASegmentAppendsWhatItsTagsSay: every field of it, one at a time and all at once.
func TestASegmentAppendsWhatItsTagsSay(t *testing.T) {
	value := func(field reflect.Value) any {
		switch field.Kind() {
		case reflect.String:
			return "a\"\\\x01é\u2028<\xff"
		case reflect.Int:
			return 1 << 40
		case reflect.Float64:
			return 1.5e-7
		case reflect.Bool:
			return true
		}
		switch field.Type() {
		case reflect.TypeFor[*Metadata]():
			return &Metadata{WidgetName: "w", Extra: map[string]json.RawMessage{"b": json.RawMessage("[1]")}}
		case reflect.TypeFor[*ToolMetadata]():
			return &ToolMetadata{ID: "t", Args: json.RawMessage(`{"a":1}`)}
		case reflect.TypeFor[map[string]json.RawMessage]():
			return map[string]json.RawMessage{"b": json.RawMessage(`{"c":"d"}`), "a\"": json.RawMessage("2")}
		}
		return nil
	}
	check := func(name string, s Segment) {
		want := must.Get(json.Marshal(s))(t)
		got := s.AppendJSON(nil)
		var gotValue, wantValue any
		expect.Equal(t, json.Unmarshal(got, &gotValue), nil, "%s: %s", name, got)
		if _ = json.Unmarshal(want, &wantValue); !reflect.DeepEqual(gotValue, wantValue) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var all Segment
	fields := reflect.TypeFor[Segment]()
	for i := range fields.NumField() {
		var one Segment
		name := fields.Field(i).Name
		if v := value(reflect.ValueOf(one).Field(i)); v != nil {
			for _, s := range []*Segment{&one, &all} {
				field := reflect.ValueOf(s).Elem().Field(i)
				field.Set(reflect.ValueOf(v).Convert(field.Type()))
			}
		} else if name != "Content" {
			t.Errorf("no value for %s", name)
		}
		check(name, one)
	}
	for _, content := range []any{nil, "text", json.RawMessage(`{"a":[1]}`), map[string]any{"a": 1.0}} {
		all.Content = content
		check("all", all)
	}
	for _, n := range []float64{0, 1, -2.5, 1e21, 1e300, 123456789.125, 9007199254740993} {
		check("et", Segment{Elapsed: n})
	}
}
