package jsontree

import (
	"reflect"
	"strings"
	"testing"
)

// TestParseAndEncodeAgreeEverywhere runs natively and in a page.
func TestParseAndEncodeAgreeEverywhere(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{`null`, nil},
		{` true `, true},
		{`-1.5e3`, -1500.0},
		{`"a\u00e9\n😀"`, "aé\n😀"},
		{`[]`, []any{}},
		{`{}`, map[string]any{}},
		{`{"a":[1,"b",null,{"c":false}],"":0}`, map[string]any{"a": []any{1.0, "b", nil, map[string]any{"c": false}}, "": 0.0}},
		{`{"\ud800":"\ud800"}`, map[string]any{"\uFFFD": "\uFFFD"}},
		{`{"constructor":1,"length":"x"}`, map[string]any{"constructor": 1.0, "length": "x"}},
	}
	for _, test := range tests {
		got, err := Parse([]byte(test.text))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %#v, %v", test.text, got, err)
		}
		encoded, err := Encode(got)
		if err != nil {
			t.Errorf("%s: encode: %v", test.text, err)
		}
		again, err := Parse(encoded)
		if err != nil || !reflect.DeepEqual(again, test.want) {
			t.Errorf("%s: after %s: %#v, %v", test.text, encoded, again, err)
		}
	}
	for _, text := range []string{``, `{`, `{"a":}`, `nope`, `1 2`, `1e400`, "\x00", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		if v, err := Parse([]byte(text)); err == nil {
			t.Errorf("%.20q gave %#v", text, v)
		}
	}
}

func TestEncodeTakesIntegers(t *testing.T) {
	b, err := Encode(map[string]any{"a": 1, "b": int64(2)})
	if err != nil || string(b) != `{"a":1,"b":2}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestEncodeRefusesOtherTypes(t *testing.T) {
	if b, err := Encode(map[string]any{"a": make(chan int)}); err == nil {
		t.Errorf("%s", b)
	}
}
