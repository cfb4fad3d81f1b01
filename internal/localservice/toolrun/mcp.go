package toolrun

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

const (
	listTimeout = 5 * time.Second  // of asking one MCP server for its tools
	listFor     = time.Minute      // how long that answer is used
	failedFor   = 10 * time.Second // and how long a failure is, so that a server that is down delays few turns
	maxLists    = 256              // answers that are kept
	maxTools    = 64               // of one server
	maxMCPReply = 1 << 20          // bytes of one HTTP reply of a server: a list may be longer than a result
	maxToolName = 64               // characters that models accept
)

// notInToolName are the characters that models refuse in the name of a function.
var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// lists are the tools of MCP servers, as they were listed last. Their keys are hashes
// of the address and the headers, because headers may have secrets.
type lists struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]*list
}

type list struct {
	asking chan struct{} // holds a value while the server is asked, so that turns at once ask once
	until  time.Time
	tools  []*mcp.Tool
}

// Remote returns the tools of an agent's MCP servers (service.md, Intellect). A tool
// whose name is taken, by names or by a server before, has the name of its server and _
// before its own. A server that can't be reached is logged, and has no tools.
func (r *Runner) Remote(ctx context.Context, servers []store.MCPServer, names []string, vars map[string]any) []store.ToolDef {
	found := make([][]*mcp.Tool, len(servers))
	var asked sync.WaitGroup
	for i := range servers {
		asked.Go(func() { found[i] = r.listed(ctx, &servers[i], vars) })
	}
	asked.Wait()
	taken := map[string]bool{}
	for _, name := range names {
		taken[name] = true
	}
	var tools []store.ToolDef
	for i := range servers {
		server := &servers[i]
		for _, t := range found[i] {
			if server.AllowedTools != nil && !slices.Contains(server.AllowedTools, t.Name) {
				continue
			}
			name := notInToolName.ReplaceAllString(t.Name, "_")
			if taken[name] {
				name = notInToolName.ReplaceAllString(server.Name, "_") + "_" + name
			}
			if taken[name] || len(name) > maxToolName {
				r.log.Warn("tool of an MCP server left out: its name is taken or too long", "server", server.Name, "tool", t.Name)
				continue
			}
			taken[name] = true
			schema, err := json.Marshal(t.InputSchema)
			if err != nil { // it came from JSON
				continue
			}
			tools = append(tools, store.ToolDef{
				Name: name, Parameters: schema, Remote: &store.RemoteTool{Server: *server, Name: t.Name},
				ToolConfig: store.ToolConfig{Type: store.MCPTool, Description: cmp.Or(t.Description, t.Title), WaitForResponse: true},
			})
		}
	}
	return tools
}

// listed returns the tools of a server, from its last answer while that is new.
func (r *Runner) listed(ctx context.Context, server *store.MCPServer, vars map[string]any) []*mcp.Tool {
	client, err := r.mcpClient(server, vars)
	if err != nil {
		r.log.Warn("MCP server not used", "server", server.Name, "error", err)
		return nil
	}
	l := r.lists.of(client.key())
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-ctx.Done():
		return nil
	}
	if time.Now().Before(l.until) {
		return l.tools
	}
	asking, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	tools, err := client.list(asking)
	if err != nil && ctx.Err() != nil { // the turn has ended, which says nothing about the server
		return nil
	}
	if err != nil {
		r.log.Warn("MCP server not used", "server", server.Name, "error", client.reason(asking, err))
		l.tools, l.until = nil, time.Now().Add(failedFor)
		return nil
	}
	l.tools, l.until = tools, time.Now().Add(listFor)
	return tools
}

func (l *lists) of(key [sha256.Size]byte) *list {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = map[[sha256.Size]byte]*list{}
	}
	known := l.byKey[key]
	if known == nil {
		if len(l.byKey) >= maxLists {
			clear(l.byKey) // rare, and it costs one request for each server
		}
		known = &list{asking: make(chan struct{}, 1)}
		l.byKey[key] = known
	}
	return known
}

// callMCP calls a tool of an MCP server and returns its result as an object.
func (r *Runner) callMCP(ctx context.Context, t *store.RemoteTool, args, vars map[string]any) (json.RawMessage, error) {
	client, err := r.mcpClient(&t.Server, vars)
	if err != nil {
		return nil, err
	}
	session, err := client.connect(ctx)
	if err != nil {
		return nil, client.reason(ctx, err)
	}
	defer r.end(session)
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: t.Name, Arguments: args})
	if err != nil {
		return nil, client.reason(ctx, err)
	}
	return objectOf(result)
}

// objectOf returns the structured content of a result, or its texts.
func objectOf(result *mcp.CallToolResult) (json.RawMessage, error) {
	var texts []string
	for _, content := range result.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.ImageContent:
			texts = append(texts, "(a picture, "+c.MIMEType+", which is not passed on)")
		case *mcp.AudioContent:
			texts = append(texts, "(a sound, "+c.MIMEType+", which is not passed on)")
		case *mcp.ResourceLink:
			texts = append(texts, c.URI)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
			}
		}
	}
	text := strings.Join(texts, "\n")
	if result.IsError {
		return nil, errors.New(cmp.Or(text, "the MCP server reports an error"))
	}
	reply := []byte(text)
	if structured, err := json.Marshal(result.StructuredContent); err == nil && string(structured) != "null" {
		reply = structured
	}
	if len(reply) > maxReply {
		return nil, fmt.Errorf("the reply of the MCP server has more than %d bytes", maxReply)
	}
	return whole(reply), nil
}

// mcpClient makes the requests to one server: it adds headers to them, and ends replies
// that are too long.
type mcpClient struct {
	address string
	under   http.RoundTripper
	http    *http.Client // whose transport is the mcpClient
	headers http.Header
	runner  *Runner

	mu    sync.Mutex
	cause error // why the last request failed; the library's errors don't wrap it
}

// mcpClient returns a client with the address and the headers of a server. Templates in both may
// have secrets, so errors don't quote them.
func (r *Runner) mcpClient(server *store.MCPServer, vars map[string]any) (*mcpClient, error) {
	c := &mcpClient{address: brain.RenderAs(server.URL, vars, inAddress), under: r.client.Transport, headers: http.Header{}, runner: r}
	if u, err := url.Parse(c.address); err != nil || !isWeb(u) {
		return nil, errors.New("the address of the MCP server is not an http or https address")
	}
	c.http = &http.Client{Transport: c}
	return c, setHeaders(c.headers, server.Headers, vars)
}

// key identifies what a server answers to: its address and the headers.
func (c *mcpClient) key() [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n", c.address)
	for _, name := range slices.Sorted(maps.Keys(c.headers)) {
		fmt.Fprintf(hash, "%q %q\n", name, c.headers[name])
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// connect begins a session with a server. It must be closed.
func (c *mcpClient) connect(ctx context.Context) (*mcp.ClientSession, error) {
	// No capability is announced: the server gets results only for what it is asked.
	client := mcp.NewClient(&mcp.Implementation{Name: "agentruntime-localservice", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.address, HTTPClient: c.http, MaxRetries: -1, DisableStandaloneSSE: true,
		MaxEventSize: 2 * maxMCPReply, // above the limit of the whole reply, which has the better error
	}, nil)
}

// end ends a session in the background: a server may take seconds for it, or refuse it.
func (r *Runner) end(session *mcp.ClientSession) {
	r.running.Go(func() { session.Close() }) //nolint:errcheck // the result is there
}

func (c *mcpClient) list(ctx context.Context) ([]*mcp.Tool, error) {
	session, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.runner.end(session)
	var tools []*mcp.Tool
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if tools = append(tools, tool); len(tools) == maxTools {
			break
		}
	}
	return tools, nil
}

// RoundTrip implements [http.RoundTripper].
func (c *mcpClient) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Method == http.MethodDelete { // the end of a session, which nothing waits for but the runner's Close
		ending, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.runner.ctx, cancel)()
		ctx = ending
	}
	r = r.Clone(ctx)
	maps.Copy(r.Header, c.headers)
	response, err := c.under.RoundTrip(r)
	switch {
	case errors.Is(err, errNotAllowed):
		return nil, c.failed(errNotAllowed)
	case err != nil:
		return nil, c.failed(errors.New("the MCP server could not be reached"))
	case response.StatusCode >= 400:
		c.failed(fmt.Errorf("the MCP server answered with status %d", response.StatusCode)) //nolint:errcheck // the library reports it
	case response.StatusCode >= 300: // it would carry headers to an address that was not checked
		response.Body.Close() //nolint:errcheck // it is not read
		return nil, c.failed(errors.New("the MCP server redirects, which is not followed; use the address to which it redirects"))
	default:
		c.failed(nil) //nolint:errcheck // nothing failed
	}
	response.Body = &limitedBody{response.Body, c, maxMCPReply}
	return response, nil
}

// failed keeps why a request failed, and returns it.
func (c *mcpClient) failed(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = err
	return err
}

// limitedBody fails after so many bytes.
type limitedBody struct {
	io.ReadCloser
	client *mcpClient
	left   int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.client.failed(errTooLong)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

var errTooLong = fmt.Errorf("the reply of the MCP server has more than %d bytes", maxMCPReply)

// reason returns what may be said of a failure: the library's errors quote the address
// and the reply, which may have secrets. The message of a server's own error is kept: the
// model can correct a call by it, and Run masks secrets in it.
func (c *mcpClient) reason(ctx context.Context, err error) error {
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	var own *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case cause != nil:
		return cause
	case errors.As(err, &own):
		return errors.New("the MCP server reports: " + own.Message)
	}
	return errors.New("the MCP server does not answer as one")
}
