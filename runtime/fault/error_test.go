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
)

// declaredCodes reads the Code constants from the source.
func declaredCodes(t *testing.T) map[Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
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
		if Redact(info.Title+"\n"+info.Meaning) != info.Title+"\n"+info.Meaning {
			t.Errorf("%s: redaction would change its texts", info.Code)
		}
		if !strings.Contains(fmt.Sprint(Groups), string(info.Group)) {
			t.Errorf("%s: unknown group %q", info.Code, info.Group)
		}
	}
	for code := range declared {
		if !rows[code] {
			t.Errorf("%s has no row", code)
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
			t.Errorf("%s: retryable %v, want %v", info.Code, e.Retryable, want[info.Code])
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
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
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
	if !errors.Is(err, inner) {
		t.Error("the cause can't be found any more")
	}
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
		got, err := json.Marshal(test.err)
		if err != nil {
			t.Fatal(err)
		}
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
		{"deadline", context.DeadlineExceeded, Timeout, "a step took too long; the phase names it"},
		{"timeout method", &os.PathError{Op: "read", Err: os.ErrDeadlineExceeded}, Timeout, "a step took too long; the phase names it"},
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

func TestFromStatus(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		code   Code
		detail string
	}{
		{"400", 400, `{"message":"no"}`, BadRequest, "no"},
		{"401", 401, `{"message":"token expired"}`, Unauthorized, "token expired"},
		{"403", 403, ``, Forbidden, "HTTP 403: the token does not allow this"},
		{"403 variables", 403, `{"detail":"Client variables are not allowed here"}`, ClientVariablesDisabled, "Client variables are not allowed here"},
		{"404", 404, `<html>`, NotFound, "<html>"},
		{"405", 405, ``, MethodNotAllowed, "HTTP 405: the address does not take this method"},
		{"409", 409, `{"error":"name in use"}`, Conflict, "name in use"},
		{"422 items", 422, `{"detail":[{"loc":["body"],"msg":"a is missing","type":"x"},"b is wrong",3]}`, ValidationError, "a is missing; b is wrong"},
		{"429", 429, ``, RateLimited, "a rate limit was reached, here or on the server"},
		{"500", 500, ``, ServerError, "HTTP 500 or above, or a success status without the required body"},
		{"503", 503, `upstream`, ServerError, "upstream"},
		{"418", 418, ``, OtherError, "an HTTP status that has no code of its own"},
		{"302", 302, ``, OtherError, "an HTTP status that has no code of its own"},
		{"JSON string", 400, `"just text"`, BadRequest, "just text"},
		{"message before detail", 400, `{"detail":"b","message":"a","error":"c"}`, BadRequest, "a"},
		{"detail before error", 400, `{"detail":"b","error":"c"}`, BadRequest, "b"},
		{"empty message", 400, `{"message":"","error":"c"}`, BadRequest, "c"},
		{"error object", 400, `{"error":{"message":"d"}}`, BadRequest, "d"},
		{"nothing to read", 400, `{"a":1}`, BadRequest, "an argument or an address is wrong, or the server refused the request as invalid"},
		{"long text", 400, strings.Repeat("ä", 600), BadRequest, strings.Repeat("ä", 500)},
		{"pattern", 404, `{"message":"AGENT_NOT_FOUND"}`, AgentNotFound, "AGENT_NOT_FOUND"},
		{"pattern in an item", 422, `{"detail":[{"msg":"no tag","type":"union_tag_not_found"}]}`, MissingDiscriminator, "no tag"},
		{"401 stays 401", 401, `{"message":"AGENT_NOT_FOUND"}`, Unauthorized, "AGENT_NOT_FOUND"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := FromStatus(test.status, []byte(test.body), nil)
			if e.Code != test.code || e.Detail != test.detail || e.Status != test.status || e.Retryable != (test.status == 503) {
				t.Errorf("got %s %d %q retryable %v, want %s %d %q", e.Code, e.Status, e.Detail, e.Retryable, test.code, test.status, test.detail)
			}
		})
	}
}

func TestFromStatusKeepsDiagnosticHeadersOnly(t *testing.T) {
	e := FromStatus(500, []byte(`{"message":"m","n":1}`), http.Header{
		"X-Kaltura-Request-Id": {"k-1"}, "X-Request-Id": {"r-1"}, "Set-Cookie": {"a=b"}, "Retry-After": {"3"},
	})
	if want := map[string]string{"x-kaltura-request-id": "k-1", "x-request-id": "r-1", "retry-after": "3"}; !maps.Equal(e.Headers, want) {
		t.Errorf("headers %v, want %v", e.Headers, want)
	}
	if e.RequestID != "r-1" {
		t.Errorf("request id %q", e.RequestID)
	}
	if want := map[string]any{"message": "m", "n": 1.0}; !reflect.DeepEqual(e.Body, want) {
		t.Errorf("body %v, want %v", e.Body, want)
	}
}

func TestFromBody(t *testing.T) {
	tests := []struct {
		name, body    string
		code          Code // empty: the body is fine
		title, detail string
	}{
		{"exception object", `{"objectType":"KalturaAPIException","code":"INVALID_KS","message":"Invalid KS","args":{}}`, APIException, "INVALID_KS", "Invalid KS"},
		{"code, message and args", `{"code":"AVATAR_NOT_FOUND","message":"no avatar","args":[],"x":1}`, APIException, "AVATAR_NOT_FOUND", "no avatar"},
		{"message and error flag", `{"message":"refused","error":true,"more":1}`, APIException, "Refused by the service", "refused"},
		{"error text", `{"error":"out of order"}`, APIException, "Refused by the service", "out of order"},
		{"error object", `{"error":{"message":"deep"}}`, APIException, "Refused by the service", "deep"},
		{"success false", `{"success":false}`, APIException, "Refused by the service", "HTTP 200 with an error in the body, for example a token of the wrong kind"},
		{"ok false", `{"ok":false,"detail":"because"}`, APIException, "Refused by the service", "because"},
		{"status", `{"status":403,"message":"wrong scope"}`, APIException, "Refused by the service", "wrong scope"},
		{"statusCode", `{"statusCode":500,"message":"m","requestId":"r"}`, APIException, "Refused by the service", "m"},
		{"pattern", `{"error":"AGENT_PARTNER_CONFIG_NOT_FOUND"}`, IntellectNotFound, "Intellect not found", "AGENT_PARTNER_CONFIG_NOT_FOUND"},
		{"leading space", " \n{\"success\":false}", APIException, "Refused by the service", "HTTP 200 with an error in the body, for example a token of the wrong kind"},

		{"empty", ``, "", "", ""},
		{"empty object", `{}`, "", "", ""},
		{"null", `null`, "", "", ""},
		{"string", `"djJ8abc"`, "", "", ""},
		{"array", `[{"error":"x"}]`, "", "", ""},
		{"broken", `{"error":"x"`, "", "", ""},
		{"good status", `{"status":"success","message":"fine"}`, "", "", ""},
		{"low status", `{"status":200,"message":"fine"}`, "", "", ""},
		{"error null", `{"error":null,"success":true}`, "", "", ""},
		{"error empty", `{"error":""}`, "", "", ""},
		{"error flag alone", `{"error":true}`, "", "", ""},
		{"record with a status", `{"id":"1","status":500}`, "", "", ""},
		{"record with an error", `{"id":"1","error":"x"}`, "", "", ""},
		{"record with success false", `{"success":false,"data":{}}`, "", "", ""},
		{"code and message only", `{"code":"A","message":"b"}`, "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := FromBody(200, []byte(test.body))
			if e == nil {
				if test.code != "" {
					t.Fatal("not recognised")
				}
				return
			}
			if e.Code != test.code || e.Title != test.title || e.Detail != test.detail || e.Status != 200 {
				t.Errorf("got %s %q %q %d, want %s %q %q", e.Code, e.Title, e.Detail, e.Status, test.code, test.title, test.detail)
			}
		})
	}
}
