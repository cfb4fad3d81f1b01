// Package toolrun runs the tools of agents that run on the service: requests to other
// services, and look-ups in tables. Code is refused, because there is no sandbox.
//
// It is independent of turns, threads and brains: it gets a tool, its arguments and the
// variables of its templates, and returns a JSON object. Secrets among the variables are
// kept out of results, errors and logs.
package toolrun

import (
	"bytes"
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

	ctx     context.Context // of tools that are not waited for
	stop    context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{}
}

// New returns a Runner, which must be closed. An api tool may call loopback addresses,
// and the hosts with those names.
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

var errNotAllowed = errors.New("an api tool may call loopback only; -allow-tool-host permits another host")

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
	return t.Type == store.APITool && t.URL != "" || t.Type == store.CSVTool && t.CSV != "" || t.Type == store.CodeTool && t.Code != ""
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
		r.log.Info("tool failed", "tool", t.Name, "error", text)
		result = object("error", text)
	}
	return withoutSecrets(result, vars)
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
		return nil, errors.New("code tools don't run here: this service has no sandbox")
	case store.CSVTool:
		return lookUp(t.CSV, values)
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
	method := strings.ToUpper(t.Method)
	if method == "" {
		method = http.MethodGet
		if t.Body != "" {
			method = http.MethodPost
		}
	}
	body := ""
	if t.Body != "" {
		body = brain.RenderAs(t.Body, vars, inJSON)
	}
	request, err := http.NewRequestWithContext(ctx, method, withQuery(t, vars), strings.NewReader(body))
	if err != nil || request.URL.Host == "" || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		return nil, errors.New("the address of the tool is not an http or https address")
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, template := range t.Headers {
		value := brain.Render(template, vars)
		if strings.ContainsAny(name+value, "\r\n") {
			return nil, fmt.Errorf("the header %q has a line break", name)
		}
		request.Header.Set(name, value)
	}
	token, err := r.authenticate(ctx, t, vars)
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

// mapped turns a reply into an object: the values that the mapping picks, or all of it.
func mapped(text []byte, mapping map[string]string) json.RawMessage {
	var value any
	if json.Unmarshal(text, &value) != nil {
		value = string(text)
	}
	if len(mapping) > 0 {
		picked := map[string]any{}
		for name, path := range mapping {
			picked[name] = pick(value, path)
		}
		value = picked
	}
	if _, ok := value.(map[string]any); !ok {
		value = map[string]any{"result": value}
	}
	result, err := json.Marshal(value)
	if err != nil { // it came from JSON
		return object("error", "the reply can't be read")
	}
	return result
}

// pick returns the value at a path such as $.data[0].email, nil if there is none.
func pick(value any, path string) any {
	path = strings.NewReplacer("[", ".", "]", "", `"`, "", "'", "").Replace(strings.TrimPrefix(path, "$"))
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case nil:
			return nil
		case map[string]any:
			if key != "" {
				value = v[key]
			}
		case []any:
			var i int
			if n, err := fmt.Sscanf(key, "%d", &i); key == "" {
				continue
			} else if n != 1 || err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			if key != "" {
				return nil
			}
		}
	}
	return value
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
				fits = fits && strings.EqualFold(strings.TrimSpace(fmt.Sprint(want)), strings.TrimSpace(row[i]))
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

// withoutSecrets masks the secrets among the variables in a result, because the called
// service may have returned them.
func withoutSecrets(result json.RawMessage, vars map[string]any) json.RawMessage {
	for name, value := range vars {
		text, ok := value.(string)
		if !ok || len(text) < minSecret || name != "sys__ks" && !strings.HasPrefix(name, "secrets.") {
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
