// Package toolrun runs the tools of agents that run on the service: requests to other
// services, calls of MCP servers, look-ups in tables, and code in a sandbox.
//
// It is independent of turns, threads and brains: it gets a tool, its arguments and the
// variables of its templates, and returns a JSON object. Secrets among the variables are
// kept out of results, errors and logs.
package toolrun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

const (
	maxReply   = 256 << 10 // bytes of a reply that are read
	maxRows    = 20        // of a table
	minSecret  = 4         // bytes; a shorter value is not masked, because it may occur in any text
	maxRunning = 64        // tools that run at once without being waited for
)

// Runner runs tools. Its methods may be called from any goroutine.
type Runner struct {
	client *http.Client
	log    *slog.Logger
	lists  lists

	ctx     context.Context // of tools that are not waited for
	stop    context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{}
}

// New returns a Runner, which must be closed. An api tool, and an MCP server, may be at
// loopback addresses, and at the hosts with those names.
func New(hosts []string, log *slog.Logger) *Runner {
	r := &Runner{log: log, slots: make(chan struct{}, maxRunning)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.client = &http.Client{
		// A redirect would carry headers to an address that was not checked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			dialer := &net.Dialer{}
			if !slices.ContainsFunc(hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) }) {
				dialer.Control = loopbackOnly // is called with the resolved address
			}
			return dialer.DialContext(ctx, network, address)
		}},
	}
	return r
}

// Close cancels the running tools that were started with Start, and waits for them.
func (r *Runner) Close() error {
	r.stop()
	r.running.Wait()
	r.client.CloseIdleConnections()
	return nil
}

var errNotAllowed = errors.New("a tool may call loopback only; -allow-tool-host permits another host")

func loopbackOnly(_, address string, _ syscall.RawConn) error {
	peer, err := netip.ParseAddrPort(address)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return errNotAllowed
	}
	return nil
}

// Here reports whether a tool runs on the service. A tool of a script that has only a
// type is shown, but not run.
func Here(t *store.ToolDef) bool {
	return t.Type == store.APITool && t.Request != nil || t.Type == store.CSVTool && t.CSV != "" ||
		t.Type == store.CodeTool && t.Code != "" || t.Type == store.MCPTool && t.Remote != nil
}

// Run runs a tool to its end, or to its time limit. vars are the variables of its
// templates; those named secrets.NAME and sys__ks are kept out of the result.
func (r *Runner) Run(ctx context.Context, t *store.ToolDef, args json.RawMessage, vars map[string]any) json.RawMessage {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout())
	defer cancel()
	result, err := r.run(ctx, t, args, vars)
	if err != nil {
		text := err.Error()
		if ctx.Err() != nil {
			text = "the tool took too long"
		}
		text = string(withoutSecrets([]byte(text), vars)) // an MCP server writes its own messages
		r.log.Info("tool failed", "tool", t.Name, "error", text)
		result = object("error", text)
	}
	result = withoutSecrets(result, vars)
	if !json.Valid(result) { // a secret of digits was in a number
		result = object("result", string(result))
	}
	return result
}

// Start runs a tool without waiting for it. While maxRunning others run, it is dropped.
func (r *Runner) Start(t *store.ToolDef, args json.RawMessage, vars map[string]any) {
	select {
	case r.slots <- struct{}{}:
	default:
		r.log.Warn("tool dropped: too many run", "tool", t.Name)
		return
	}
	tool := *t
	r.running.Go(func() {
		defer func() { <-r.slots }()
		r.Run(r.ctx, &tool, args, vars)
	})
}

func (r *Runner) run(ctx context.Context, t *store.ToolDef, args json.RawMessage, vars map[string]any) (json.RawMessage, error) {
	values := map[string]any{}
	if len(args) > 0 && json.Unmarshal(args, &values) != nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	switch t.Type {
	case store.CodeTool:
		return runCode(ctx, t.Timeout(), t.Code, values, vars)
	case store.CSVTool:
		return lookUp(t.CSV, values)
	case store.MCPTool:
		return r.callMCP(ctx, t.Remote, values, vars)
	}
	// Arguments must not replace the service's own variables.
	all := maps.Clone(vars)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range values {
		if !strings.HasPrefix(name, "sys__") && !strings.HasPrefix(name, "secrets.") {
			all[name] = value
		}
		all["args."+name] = value
	}
	return r.call(ctx, t, all)
}

// call makes the request of an api tool. Errors don't quote the address: it may hold a
// secret.
func (r *Runner) call(ctx context.Context, t *store.ToolDef, vars map[string]any) (json.RawMessage, error) {
	body := brain.RenderAs(t.Request.Text(), vars, inJSON)
	request, err := http.NewRequestWithContext(ctx, cmp.Or(t.Request.Method, http.MethodGet), withQuery(t.Request, vars), strings.NewReader(body))
	if err != nil || !isWeb(request.URL) {
		return nil, errors.New("the address of the tool is not an http or https address")
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if err := setHeaders(request.Header, t.Request.Headers, vars); err != nil {
		return nil, err
	}
	token, err := r.authenticate(ctx, t.Request.Authentication, vars)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.client.Do(request)
	if errors.Is(err, errNotAllowed) {
		return nil, errNotAllowed
	}
	if err != nil {
		return nil, errors.New("the tool's service could not be reached")
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, errors.New("the tool's service closed the connection before the end of its reply")
	case len(text) > maxReply:
		return nil, fmt.Errorf("the reply of the tool's service has more than %d bytes", maxReply)
	case response.StatusCode >= 300:
		return nil, fmt.Errorf("the tool's service answered with status %d", response.StatusCode)
	}
	if token != "" { // the service may have returned it
		text = bytes.ReplaceAll(text, []byte(token), []byte("***"))
	}
	return resultOf(t, text, vars), nil
}

// isWeb reports whether an address is one of HTTP.
func isWeb(u *url.URL) bool { return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") }

// setHeaders sets headers, whose values are templates.
func setHeaders(h http.Header, templates map[string]string, vars map[string]any) error {
	for name, template := range templates {
		value := brain.Render(template, vars)
		if strings.ContainsAny(name+value, "\r\n") {
			return fmt.Errorf("the header %q has a line break", name)
		}
		h.Set(name, value)
	}
	return nil
}

// inAddress escapes a value for its place in an address. A value at the start of an
// address is not escaped, because it may be the scheme and the host.
func inAddress(value string, at int) string {
	if at == 0 {
		return value
	}
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// inJSON escapes a value for a JSON string, without the quotes around it.
func inJSON(value string, _ int) string {
	quoted, _ := json.Marshal(value) // a string always marshals
	return string(quoted[1 : len(quoted)-1])
}

// pick returns the value at a path, names and indexes that dots separate, nil if there is none.
func pick(value any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// plain writes texts as they are, and other values as JSON: fmt would write 1000000 as 1e+06.
func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}

// lookUp returns the rows of a table whose columns have the values of the arguments.
func lookUp(table string, args map[string]any) (json.RawMessage, error) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, errors.New("the table of the tool can't be read")
	}
	found := []map[string]string{}
	for _, row := range rows[1:] {
		entry := map[string]string{}
		fits := true
		for i, name := range rows[0] {
			entry[name] = row[i]
			if want, ok := args[name]; ok {
				fits = fits && strings.EqualFold(strings.TrimSpace(plain(want)), strings.TrimSpace(row[i]))
			}
		}
		if fits && len(found) < maxRows {
			found = append(found, entry)
		}
	}
	return json.Marshal(map[string]any{"rows": found})
}

func object(name, text string) json.RawMessage {
	result, _ := json.Marshal(map[string]string{name: text}) // strings always marshal
	return result
}

// isSecret reports whether a variable must not leave the service but in requests of tools.
func isSecret(name string) bool { return name == "sys__ks" || strings.HasPrefix(name, "secrets.") }

// withoutSecrets masks the secrets among the variables in a result, because the called
// service may have returned them.
func withoutSecrets(result json.RawMessage, vars map[string]any) json.RawMessage {
	for name, value := range vars {
		text, ok := value.(string)
		if !ok || len(text) < minSecret || !isSecret(name) {
			continue
		}
		// The secret in JSON within a JSON text, in JSON, as it is, and in an address.
		quoted := inJSON(text, 0)
		for _, form := range []string{inJSON(quoted, 0), quoted, text, url.QueryEscape(text), inAddress(text, 1)} {
			result = bytes.ReplaceAll(result, []byte(form), []byte("***"))
		}
	}
	return result
}
