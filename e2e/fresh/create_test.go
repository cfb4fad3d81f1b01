package fresh

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// localService is the program of the local service.
func localService(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "localservice")
	must.Do(t, pagetest.Build(t.Context(), "cmd/localservice", file))
	return file
}

// version is that of the npm package in a folder.
func (p *project) version(folder string) string {
	p.t.Helper()
	var manifest struct{ Version string }
	if err := json.Unmarshal(p.read(filepath.Join(folder, "package.json")), &manifest); err != nil || manifest.Version == "" {
		p.t.Fatalf("%s/package.json has no version: %v", folder, err)
	}
	return manifest.Version
}

// TestCreate goes from npm create to an agent that talks, and to a passing test, with every
// framework: with the packages as they would be published, but for the program of the local
// service, which TestPagesOwnTests installs.
func TestCreate(t *testing.T) {
	t.Parallel()
	file := must.Get(tarball())(t)
	program := localService(t)
	create := must.Get(filepath.Abs("../../create/create.mjs"))(t)
	root := &project{t: t, dir: "../.."}
	if create, js := root.version("create"), root.version("js"); create != js {
		t.Errorf("a project asks for version %s of agentruntime, which is %s: the packages have one version", create, js)
	}
	for _, template := range []string{"vanilla", "react", "vue", "svelte", "next"} {
		t.Run(template, func(t *testing.T) {
			p := &project{t: t, ctx: t.Context(), dir: t.TempDir()}
			p.run("node", create, "My Agent", "--template", template)
			p.dir = filepath.Join(p.dir, "My Agent")
			p.env = []string{"AGENTRUNTIME_LOCAL=" + program, "NO_COLOR=1", "FORCE_COLOR=0"}
			p.run("npm", "pkg", "delete", "devDependencies.agentruntime-local")
			p.run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", file)
			p.run("npm", "test")
			p.run("npm", "run", "build")
			address := p.start("npm", "run", "dev")
			page := pagetest.Open(t, address.String())
			page.Allow("local or private host")
			page.AwaitTrue(`document.querySelector("agent-avatar")?.shadowRoot?.querySelector("button[part~=start]")`)
			page.Do(nil, `
				const agent = document.querySelector("agent-avatar")
				agent.microphone = "none" // the browser's fake microphone would interrupt the agent
				await agent.start()
				await agent.send("Tell me a long story.")`)
			page.AwaitTrue(`document.querySelector("agent-avatar").shadowRoot.textContent.includes("Once upon a time")`)
		})
	}
}
