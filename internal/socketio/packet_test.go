package socketio

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

func rawArgs(values ...string) (args Args) {
	for _, v := range values {
		args = append(args, json.RawMessage(v))
	}
	return args
}

func TestDecodePacket(t *testing.T) {
	for _, tc := range []struct {
		text string
		want packet
	}{
		{`0`, packet{typ: typeConnect, id: noID}},
		{`0{"token":"djJ8"}`, packet{typ: typeConnect, id: noID, data: json.RawMessage(`{"token":"djJ8"}`)}},
		{`0/admin,{"a":1}`, packet{typ: typeConnect, id: noID, namespace: "/admin", data: json.RawMessage(`{"a":1}`)}},
		{`0/admin`, packet{typ: typeConnect, id: noID, namespace: "/admin"}},
		{`0/admin,`, packet{typ: typeConnect, id: noID, namespace: "/admin"}},
		{`1`, packet{typ: typeDisconnect, id: noID}},
		{`1/admin,`, packet{typ: typeDisconnect, id: noID, namespace: "/admin"}},
		{`2["joinComplete",{}]`, packet{typ: typeEvent, id: noID, name: "joinComplete", args: rawArgs(`{}`)}},
		{`2["bare"]`, packet{typ: typeEvent, id: noID, name: "bare"}},
		{`2[7,"seven"]`, packet{typ: typeEvent, id: noID, name: "7", args: rawArgs(`"seven"`)}},
		{`212["ask", 1, [2] ]`, packet{typ: typeEvent, id: 12, name: "ask", args: rawArgs(`1`, `[2]`)}},
		{`2/admin,0["ask"]`, packet{typ: typeEvent, id: 0, namespace: "/admin", name: "ask"}},
		{`30[]`, packet{typ: typeAck, id: 0}},
		{`3456["yes",{"a":null}]`, packet{typ: typeAck, id: 456, args: rawArgs(`"yes"`, `{"a":null}`)}},
		{`4{"message":"unauthorized"}`, packet{typ: typeConnectError, id: noID, data: json.RawMessage(`{"message":"unauthorized"}`)}},
		{`4"no"`, packet{typ: typeConnectError, id: noID, data: json.RawMessage(`"no"`)}},
		{
			`51-["shot",{"data":{"_placeholder":true,"num":0}}]`,
			packet{typ: typeEvent, id: noID, missing: 1, name: "shot", args: rawArgs(`{"data":{"_placeholder":true,"num":0}}`)},
		},
		{`510-["shot"]`, packet{typ: typeEvent, id: noID, missing: 10, name: "shot"}},
		{`62-/a,7[]`, packet{typ: typeAck, id: 7, missing: 2, namespace: "/a"}},
	} {
		if tc.want.namespace == "" {
			tc.want.namespace = rootNamespace
		}
		got, err := decodePacket([]byte(tc.text))
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		if len(got.args) == 0 {
			got.args = nil
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.text, got, tc.want)
		}
	}
}

func TestDecodePacketRefuses(t *testing.T) {
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	for _, tc := range []struct{ name, text string }{
		{"nothing", ``},
		{"an unknown type", `7`},
		{"a letter for a type", `abc`},
		{"connect with an array", `0["a"]`},
		{"connect with a string", `0"a"`},
		{"connect with half an object", `0{"a":`},
		{"connect with an id", `01{}`},
		{"disconnect with a payload", `1{}`},
		{"disconnect with an id", `11`},
		{"an event without payload", `2`},
		{"an event with an object", `2{}`},
		{"an event with no name", `2[]`},
		{"an event named by an object", `2[{}]`},
		{"an event named by null", `2[null]`},
		{"an event with two payloads", `2["a"]["b"]`},
		{"an event with a comma too many", `2["a",]`},
		{"an id that is not a number", `2abc["message-with-ack",1,"2",{"3":[false]}]`},
		{"an id with a sign", `2-1["a"]`},
		{"an id beyond JavaScript's numbers", `21234567890123456["a"]`},
		{"reserved name connect", `2["connect"]`},
		{"reserved name connect_error", `2["connect_error"]`},
		{"reserved name disconnect", `2["disconnect"]`},
		{"reserved name disconnecting", `2["disconnecting"]`},
		{"reserved name newListener", `2["newListener"]`},
		{"reserved name removeListener", `2["\u0072emoveListener"]`},
		{"an acknowledgement without id", `3[]`},
		{"an acknowledgement without payload", `31`},
		{"an acknowledgement with an object", `31{}`},
		{"a refusal without payload", `4`},
		{"a refusal with a number", `43`},
		{"no attachment count", `5["a"]`},
		{"no dash after the count", `51["a"]`},
		{"an empty count", `5-["a"]`},
		{"zero attachments", `50-["a"]`},
		{"a count with a dot", `51.0-["a"]`},
		{"a count with an exponent", `51e1-["a"]`},
		{"a negative count", `5-1-["a"]`},
		{"eleven attachments", `511-["a"]`},
		{"a billion attachments", `51000000000-["a"]`},
		{"nothing after the count", `51-`},
		{"too deep", `2["a",` + deep + `]`},
		{"too many arguments", `2["a"` + strings.Repeat(",0", maxArgs+1) + `]`},
		{"an endless namespace", `0/` + strings.Repeat("a", maxNamespace)},
		{"text that is not UTF-8", "2[\"\xff\"]"},
	} {
		if p, err := decodePacket([]byte(tc.text)); !errors.Is(err, errProtocol) {
			t.Errorf("%s: got %+v, %v; want a protocol violation", tc.name, p, err)
		}
	}
}

func TestDecodePacketAllowsWhatIsWithinBounds(t *testing.T) {
	deep := strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)
	for _, text := range []string{
		`2["a",` + deep + `]`,
		`2["a"` + strings.Repeat(",0", maxArgs) + `]`,
		`2["a",{` + strings.TrimSuffix(strings.Repeat(`"k":[1,2],`, maxArgs), ",") + `}]`,
		`2["[[[[{{{,,,","\"[[[\\"]`,
		`2["connected"]`,
	} {
		if _, err := decodePacket([]byte(text)); err != nil {
			t.Errorf("%.40s…: %v", text, err)
		}
	}
}

type shot struct {
	Name  string  `json:"name"`
	Data  Binary  `json:"data"`
	Small *Binary `json:"small,omitempty"`
	Plain []byte  `json:"plain,omitempty"`
}

func TestBinaryBecomesAttachmentsAnywhere(t *testing.T) {
	small := Binary{9}
	args, attachments, err := encodeArgs([]any{
		Binary("whole"),
		shot{Name: binaryMark()[:5], Data: Binary{1, 2, 3}, Small: &small, Plain: []byte("plain")},
		map[string]any{"list": []any{1, Binary{}, nil, Binary(nil)}},
	})
	must.Do(t, err)
	for i, want := range []string{
		`{"_placeholder":true,"num":0}`,
		`{"name":"` + binaryMark()[:5] + `","data":{"_placeholder":true,"num":1},"small":{"_placeholder":true,"num":2},"plain":"cGxhaW4="}`,
		`{"list":[1,{"_placeholder":true,"num":3},null,null]}`,
	} {
		expect.Equal(t, string(args[i]), want, "argument %d", i)
	}
	if want := [][]byte{[]byte("whole"), {1, 2, 3}, {9}, {}}; fmt.Sprint(attachments) != fmt.Sprint(want) {
		t.Errorf("attachments %v, want %v", attachments, want)
	}

	must.Do(t, inlineAttachments(args, attachments))
	var got shot
	must.Do(t, args.Decode(1, &got))
	if want := (shot{Name: binaryMark()[:5], Data: Binary{1, 2, 3}, Small: &small, Plain: []byte("plain")}); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
	var whole Binary
	if err := args.Decode(0, &whole); err != nil || string(whole) != "whole" {
		t.Errorf("decoded %q, %v", whole, err)
	}
}

func TestEncodeArgsBounds(t *testing.T) {
	many := make([]any, maxAttachments+1)
	for i := range many {
		many[i] = Binary{1}
	}
	for name, values := range map[string][]any{
		"attachments": many,
		"arguments":   make([]any, maxArgs+1),
		"channel":     {make(chan int)},
	} {
		if _, _, err := encodeArgs(values); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestArgsThatAreNotThere(t *testing.T) {
	a := rawArgs(`{"a":1}`)
	var v struct{ A string }
	for i, want := range map[int]string{
		-1: "socketio: no argument -1",
		1:  "socketio: no argument 1",
		0:  "socketio: decode argument 0: json: cannot unmarshal number into Go struct field .a of type string",
	} {
		if err := a.Decode(i, &v); err == nil || !strings.EqualFold(err.Error(), want) {
			t.Errorf("Decode(%d): %v, want %s", i, err, want)
		}
	}
}

func TestInlineAttachments(t *testing.T) {
	for raw, want := range map[string]string{
		`1.50`:                          `1.50`,
		`"_placeholder"`:                `"_placeholder"`,
		`{"_placeholder":true,"num":1}`: `"Yg=="`,
		`{"num":0,"_placeholder":true,"more":[{}]}`:                        `"YQ=="`,
		`{"_placeholder":false,"num":9}`:                                   `{"_placeholder":false,"num":9}`,
		`{"_placeholder":"true","num":9}`:                                  `{"_placeholder":"true","num":9}`,
		`{"_PLACEHOLDER":true,"num":9}`:                                    `{"_PLACEHOLDER":true,"num":9}`,
		`{"_placeholder":true,"num":9,"_placeholder":1}`:                   `{"_placeholder":1,"num":9}`,
		`[{"_placeholder":true,"num":0},[{"_placeholder":true,"num":1}]]`:  `["YQ==",["Yg=="]]`,
		`{"\u005fplaceholder":true,"num":0}`:                               `"YQ=="`,
		`{"_placeholder":true,"num":0,"in":{"_placeholder":true,"num":1}}`: `"YQ=="`,
		`{"_placeholder":{"_placeholder":true,"num":1}}`:                   `{"_placeholder":"Yg=="}`,
	} {
		args := rawArgs(raw)
		if err := inlineAttachments(args, [][]byte{{'a'}, {'b'}}); err != nil || string(args[0]) != want {
			t.Errorf("%s: got %s, %v; want %s", raw, args[0], err, want)
		}
	}
	for _, raw := range []string{
		`{"_placeholder":true}`,
		`{"_placeholder":true,"num":2}`,
		`{"_placeholder":true,"num":-1}`,
		`{"_placeholder":true,"num":0.5}`,
		`{"_placeholder":true,"num":"0"}`,
		`{"_placeholder":true,"num":{}}`,
		`[[{"_placeholder":true,"num":2}]]`,
		`[{"_placeholder":true,"num":0},{"_placeholder":true,"num":0}]`,
	} {
		args := rawArgs(raw)
		expect.Error(t, inlineAttachments(args, [][]byte{{'a'}, {'b'}}), errProtocol, "%s: got %s", raw, args[0])
	}
}

// feed decodes messages like a link does; text and binary alternate by type.
func feed(messages ...any) ([]received, error) {
	var d decoder
	var out []received
	for _, m := range messages {
		var in message
		switch m := m.(type) {
		case string:
			in.data = []byte(m)
		case []byte:
			in = message{binary: true, data: m}
		}
		r, err := d.decode(in)
		if err != nil {
			return out, err
		}
		if r.engine != 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

func TestDecoderRefuses(t *testing.T) {
	for name, messages := range map[string][]any{
		"an empty message":                {``},
		"an unknown Engine.IO type":       {`7`},
		"binary out of nothing":           {[]byte("a")},
		"binary after the last":           {`451-["a"]`, []byte("a"), []byte("b")},
		"text where an attachment fits":   {`451-["a"]`, `42["b"]`},
		"a placeholder beyond the last":   {`451-["a",{"_placeholder":true,"num":1}]`, []byte("a")},
		"a placeholder without an number": {`461-0[{"_placeholder":true}]`, []byte("a")},
	} {
		if got, err := feed(messages...); !errors.Is(err, errProtocol) {
			t.Errorf("%s: got %+v, %v; want a protocol violation", name, got, err)
		}
	}
}

func TestDecodeOpen(t *testing.T) {
	open, err := decodeOpen([]byte(`{"sid":"a","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}`))
	if err != nil || open.PingInterval != 25000 || open.PingTimeout != 20000 {
		t.Errorf("got %+v, %v", open, err)
	}
	for _, text := range []string{
		``, `[]`, `{}`,
		`{"pingInterval":-1,"pingTimeout":20000}`,
		`{"pingInterval":25000,"pingTimeout":0}`,
		`{"pingInterval":1e18,"pingTimeout":20000}`,
		`{"pingInterval":9223372036854775807,"pingTimeout":9223372036854775807}`,
	} {
		if open, err := decodeOpen([]byte(text)); !errors.Is(err, errProtocol) {
			t.Errorf("%s: got %+v, %v; want a protocol violation", text, open, err)
		}
	}
}
