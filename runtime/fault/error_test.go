package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// declaredCodes reads the Code constants from the source.
func declaredCodes(t *testing.T) map[Code]string {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0))(t)
	codes := map[Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		text := must.Get(strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value))(t)
		if other, twice := codes[Code(text)]; twice {
			t.Errorf("%s and %s are both %q", other, spec.Names[0].Name, text)
		}
		codes[Code(text)] = spec.Names[0].Name
		return true
	})
	return codes
}

func TestEveryCodeHasOneCompleteRow(t *testing.T) {
	declared := declaredCodes(t)
	rows := map[Code]bool{}
	for _, info := range Codes() {
		if rows[info.Code] {
			t.Errorf("%s has two rows", info.Code)
		}
		rows[info.Code] = true
		if declared[info.Code] == "" {
			t.Errorf("%s has a row but no constant", info.Code)
		}
		if info.Title == "" || info.Meaning == "" || strings.ContainsAny(info.Title+info.Meaning, "\n|") {
			t.Errorf("%s: title and meaning are one line each: %+v", info.Code, info)
		}
		expect.Equal(t, Redact(info.Title+"\n"+info.Meaning), info.Title+"\n"+info.Meaning, "%s: redaction would change its texts", info.Code)
		if !strings.Contains(fmt.Sprint(Groups), string(info.Group)) {
			t.Errorf("%s: unknown group %q", info.Code, info.Group)
		}
	}
	for code := range declared {
		if !rows[code] {
			t.Errorf("%s has no row in table of codes.go", code)
		}
	}
}

// TestRetryableFollowsAppendixA holds every code against protocol
// Appendix A: true exactly where it says so, and for network_error, which it
// leaves open and §9.7 has repeated.
func TestRetryableFollowsAppendixA(t *testing.T) {
	want := map[Code]bool{
		Timeout: true, CapacityUnavailable: true, WHEPTimeout: true, WHEPFailed: true, STVSessionGone: true, ReconnectFailed: true,
		NetworkError: true,
	}
	for _, info := range Codes() {
		if e := New(info.Code, ""); e.Retryable != want[info.Code] {
			t.Errorf("%s: retryable %v, want %v: change Retry of its row, or want of this test if Appendix A has the code as retryable or doesn't have it", info.Code, e.Retryable, want[info.Code])
		}
	}
	if New(WHEPFailed, "").WithStatus(500).Retryable {
		t.Error("whep_failed with an HTTP status is retryable")
	}
	if New(NetworkError, "").WithStatus(200).Retryable {
		t.Error("network_error in the middle of a reply is retryable")
	}
	if !New(STVSessionGone, "").WithStatus(404).Retryable {
		t.Error("stv_session_gone with a status is not retryable")
	}
	if !New(ConnectFailed, "").Wrap(fmt.Errorf("connect: %w", context.Canceled)).Retryable {
		t.Error("connect_failed of an aborted connect is not retryable")
	}
	if New(ConnectFailed, "").Wrap(io.EOF).Retryable {
		t.Error("connect_failed for another reason is retryable")
	}
}

func TestStatusOfServiceRefusals(t *testing.T) {
	want := map[Code]int{CapacityUnavailable: 6001, TierExceeded: 6002, PeerRemoved: 401}
	got := map[Code]int{}
	for _, info := range Codes() {
		if e := New(info.Code, ""); e.Status != 0 {
			got[info.Code] = e.Status
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFatalCodes(t *testing.T) {
	for _, info := range Codes() {
		switch info.Code {
		case CapacityUnavailable, TierExceeded, BadRequest, PeerRemoved, UnsupportedClient:
			if !info.Code.Fatal() {
				t.Errorf("%s is not fatal", info.Code)
			}
		default:
			if info.Code.Fatal() {
				t.Errorf("%s is fatal", info.Code)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  *Error
		want string
	}{
		{New(Timeout, ""), "timeout: a step took too long; the phase names it"},
		{New(Timeout, "no answer in 5 s").InPhase(PhaseWHEP), "timeout in phase whep: no answer in 5 s"},
		{New(NotFound, "no such thread").WithStatus(404).Wrap(io.EOF), "not_found (status 404): no such thread: EOF"},
		{&Error{Code: "made_up"}, "made_up"},
		{&Error{Code: "made_up", Title: "Made up"}, "made_up: Made up"},
	}
	for _, test := range tests {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestCodesMatchThroughTheChain(t *testing.T) {
	err := fmt.Errorf("connect: %w", New(ConnectFailed, "").Wrap(fmt.Errorf("read: %w", New(SocketError, "").Wrap(io.EOF))))
	for _, target := range []error{ConnectFailed, SocketError, io.EOF} {
		if !errors.Is(err, target) {
			t.Errorf("%v not found in %v", target, err)
		}
	}
	if errors.Is(err, Timeout) {
		t.Error("a code that is not there was found")
	}
}

// TestNoSecretLeavesAnError prints an error full of secrets in every way there
// is.
func TestNoSecretLeavesAnError(t *testing.T) {
	const password, credential = "corr3ct-horse", "tUrN-passw0rd"
	inner := fmt.Errorf("POST https://talk.example/%s/a?ks=%s: refused", password, testToken)
	var session Secrets
	defer session.Forget()
	session.Add(password)
	err := New(APIException, "header Authorization: KS "+testToken).
		WithTitle("refused " + testToken).
		WithBody(map[string]any{"ks": testToken, "turnCredentials": map[string]any{"credential": credential}}).
		At("/service/" + testToken + "?secret=" + password).
		Wrap(inner)
	err.WithHeaders(http.Header{"X-Request-Id": {testToken}})
	byHand := &Error{Code: BadRequest, Title: testToken, Detail: "ks=" + testToken, Headers: map[string]string{"a": testToken}, Body: map[string]any{"password": password}, Cause: inner}

	marshal := func(v any) string {
		text := must.Get(json.Marshal(v))(t)
		return string(text)
	}
	outputs := map[string]string{
		"Error":           err.Error(),
		"Message":         err.Message(),
		"%+v":             fmt.Sprintf("%+v", err),
		"%#v":             fmt.Sprintf("%#v", err),
		"value":           fmt.Sprintf("%v %+v", *err, *err),
		"JSON":            marshal(err),
		"JSON in a map":   marshal(map[string]any{"e": err}),
		"wrapped":         fmt.Errorf("connect: %w", err).Error(),
		"cause":           fmt.Sprintf("%v %+v %#v %s", errors.Unwrap(err), errors.Unwrap(err), errors.Unwrap(err), errors.Unwrap(err)),
		"From":            From(inner).Error() + marshal(From(inner)),
		"FromStatus":      marshal(FromStatus(400, []byte(`{"message":"`+testToken+`","ks":"`+testToken+`"}`), http.Header{"X-Request-Id": {testToken}})),
		"FromStatus text": marshal(FromStatus(502, []byte("bad gateway for "+testToken), nil)),
		"FromBody":        marshal(FromBody(200, []byte(`{"code":"`+testToken+`","message":"`+testToken+`","args":[]}`))),
		"by hand":         byHand.Error() + byHand.Message() + marshal(byHand),
	}
	for name, out := range outputs {
		for _, secret := range []string{testToken, password, credential} {
			if strings.Contains(out, secret) {
				t.Errorf("%s shows %q: %s", name, secret, out)
			}
		}
	}
	expect.Error(t, err, inner, "the cause can't be found any more")
}

func TestMarshalJSON(t *testing.T) {
	full := New(WHEPFailed, "the media server refused").InPhase(PhaseWHEP).WithStatus(503).At("/rtc/v1/whep?app=app").
		WithBody([]any{"busy"}).WithTimings(map[string]int64{"whep": 812}).Wrap(io.EOF)
	full.RequestID, full.Headers = "r-1", map[string]string{"x-request-id": "r-1"}
	tests := []struct {
		err  *Error
		want string
	}{
		{full, `{"body":["busy"],"cause":"EOF","code":"whep_failed","detail":"the media server refused",` +
			`"headers":{"x-request-id":"r-1"},"instance":"/rtc/v1/whep","phase":"whep","requestId":"r-1","retryable":false,"status":503,` +
			`"timings":{"whep":812},"title":"Video subscription failed",` +
			`"type":"https://github.com/agentruntime/agentruntime/blob/main/docs/errors.md#whep_failed"}`},
		{&Error{Code: "made_up"}, `{"code":"made_up","retryable":false,"title":"","type":"about:blank"}`},
	}
	for _, test := range tests {
		got := must.Get(json.Marshal(test.err))(t)
		if string(got) != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestFrom(t *testing.T) {
	own := New(PeerRemoved, "")
	tests := []struct {
		name   string
		err    error
		code   Code
		detail string
	}{
		{"cancelled", fmt.Errorf("read: %w", context.Canceled), Aborted, "the caller cancelled"},
		{"deadline", context.DeadlineExceeded, Timeout, "the time was up"},
		{"timeout method", &os.PathError{Op: "read", Err: os.ErrDeadlineExceeded}, Timeout, "the time was up"},
		{"bare code", NotFound, NotFound, "HTTP 404: it does not exist, or not for this token"},
		{"wrapped code", fmt.Errorf("join: %w", Timeout), Timeout, "join: timeout"},
		{"unknown", io.EOF, InternalError, "the runtime itself failed; please report it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := From(test.err)
			if e.Code != test.code || e.Detail != test.detail {
				t.Errorf("got %s %q, want %s %q", e.Code, e.Detail, test.code, test.detail)
			}
		})
	}
	if got := From(fmt.Errorf("ended: %w", own)); got != own {
		t.Errorf("got %v, want the error itself", got)
	}
	if got := From(nil); got != nil {
		t.Errorf("got %v for nil", got)
	}
}

// TestRefusals has the cases that the test of the management client in TypeScript runs too.
func TestRefusals(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/refusals.json"))(t)
	var tests []struct {
		Name, Body, Title, Message string
		Status                     int
		Code                       Code // empty: the reply is no refusal
		Retryable                  bool
	}
	must.Do(t, json.Unmarshal(data, &tests))
	seen := map[Code]bool{}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			e := FromBody(test.Status, []byte(test.Body))
			if test.Status != 200 {
				e = FromStatus(test.Status, []byte(test.Body), nil)
			}
			if e == nil || test.Code == "" {
				if e != nil || test.Code != "" {
					t.Fatalf("got %v, want %q", e, test.Code)
				}
				return
			}
			if test.Title == "" {
				info, _ := Lookup(test.Code)
				test.Title = info.Title
			}
			if e.Code != test.Code || e.Title != test.Title || e.Detail != test.Message || e.Status != test.Status || e.Retryable != test.Retryable {
				t.Errorf("got %s %q %q %d, retryable %v", e.Code, e.Title, e.Detail, e.Status, e.Retryable)
			}
			seen[e.Code] = true
		})
	}
	for _, row := range RefusalNames {
		if !seen[row.Code] {
			t.Errorf("testdata/refusals.json has no case with the name %s", row.Name)
		}
	}
	for _, row := range StatusCodes {
		if !seen[row.Code] {
			t.Errorf("testdata/refusals.json has no case with the status %d", row.Status)
		}
	}
}

func TestFromStatusKeepsDiagnosticHeadersOnly(t *testing.T) {
	e := FromStatus(500, []byte(`{"message":"m","n":1}`), http.Header{
		"X-Kaltura-Request-Id": {"k-1"}, "X-Request-Id": {"r-1"}, "Set-Cookie": {"a=b"}, "Retry-After": {"3"},
	})
	if want := map[string]string{"x-kaltura-request-id": "k-1", "x-request-id": "r-1", "retry-after": "3"}; !maps.Equal(e.Headers, want) {
		t.Errorf("headers %v, want %v", e.Headers, want)
	}
	expect.Equal(t, e.RequestID, "r-1", "request id")
	if want := map[string]any{"message": "m", "n": 1.0}; !reflect.DeepEqual(e.Body, want) {
		t.Errorf("body %v, want %v", e.Body, want)
	}
}
