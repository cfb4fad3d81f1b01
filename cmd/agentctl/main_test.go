package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var variables = []string{envPartner, envSecret, envSecretFile, envService, envRegion, envAgentic, envGenie, envOVP, envMessaging}

// rig runs agentctl against a local service.
type rig struct {
	t     *testing.T
	info  localservice.Info
	env   map[string]string
	stdin string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return rigOf(t, localservice.Options{})
}

func rigOf(t *testing.T, o localservice.Options) *rig {
	t.Helper()
	info := servicetest.Start(t, o).Info()
	return &rig{t: t, info: info, env: map[string]string{
		envPartner: fmt.Sprint(info.PartnerID), envSecret: info.AdminSecret,
		envAgentic: info.AgenticURL, envGenie: info.GenieURL, envOVP: info.OVPURL, envMessaging: info.AgenticURL,
	}}
}

// run executes a command line. The secret must never be printed.
func (r *rig) run(args ...string) (stdout, stderr string, status int) {
	r.t.Helper()
	var out, errs bytes.Buffer
	for _, name := range variables {
		r.t.Setenv(name, r.env[name])
	}
	status = run(r.t.Context(), args, strings.NewReader(r.stdin), &out, &errs)
	if secret := r.info.AdminSecret; secret != "" && strings.Contains(out.String()+errs.String(), secret) {
		r.t.Errorf("%v: the secret is printed", args)
	}
	return out.String(), errs.String(), status
}

// ok is run for commands that must succeed.
func (r *rig) ok(args ...string) string {
	r.t.Helper()
	stdout, stderr, status := r.run(args...)
	if status != statusOK || stderr != "" {
		r.t.Fatalf("agentctl %s: status %d, %s", strings.Join(args, " "), status, stderr)
	}
	return stdout
}

// fails is run for commands that must not succeed, with a text that the error has.
func (r *rig) fails(status int, text string, args ...string) {
	r.t.Helper()
	_, stderr, got := r.run(args...)
	if got != status || !strings.Contains(stderr, text) || !strings.HasPrefix(stderr, "agentctl: ") {
		r.t.Errorf("agentctl %s: status %d, %q; want %d, %q", strings.Join(args, " "), got, stderr, status, text)
	}
}

// object is what a command prints with -json.
func (r *rig) object(args ...string) map[string]any {
	r.t.Helper()
	var object map[string]any
	text := r.ok(append(args, "-json")...)
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		r.t.Fatalf("agentctl %s: %v in %q", strings.Join(args, " "), err, text)
	}
	return object
}

func (r *rig) file(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), name)
	must.Do(r.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestBuildingAnAgent(t *testing.T) {
	r := newRig(t)
	table := r.ok("agents", "list", "-search", "ROBIN")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "AGENT") || !strings.Contains(lines[1], "Robin") {
		t.Errorf("table\n%s", table)
	}
	var lines int
	for line := range strings.Lines(r.ok("-json", "agents", "list")) {
		var agent struct{ AgentID string }
		if err := json.Unmarshal([]byte(line), &agent); err != nil || agent.AgentID == "" {
			t.Errorf("%q: %v", line, err)
		}
		lines++
	}
	if lines != len(r.info.Agents) {
		t.Errorf("%d lines for %d agents", lines, len(r.info.Agents))
	}

	file := r.file("intellect.json", `{"base_directive":"You are {{ agent_name }}.","opening_phrase":"Hello!"}`)
	intellect := fmt.Sprint(r.object("intellects", "create", "-name", "Rita", "-file", file)["id"])
	r.stdin = "the value of a secret\n"
	r.ok("intellects", "secret", intellect, "CRM")
	if text := r.ok("intellects", "get", intellect); !strings.Contains(text, "CRM") || strings.Contains(text, "the value") {
		t.Errorf("intellect\n%s", text)
	}
	r.ok("intellects", "opening", intellect, "Hi, {{ name | default('you') }}!")
	r.ok("intellects", "update", "-file", r.file("patch.json", `{"allow_client_variables":false}`), intellect)
	if i := r.object("intellects", "get", intellect); i["allow_client_variables"] != false || i["opening_phrase"] != "Hi, {{ name | default('you') }}!" {
		t.Errorf("intellect %v", i)
	}
	receptionist, _ := r.info.Agent("receptionist")
	create := []string{"agents", "create", "-name", "Rita", "-intellect", intellect, "-tag", "live"}
	ids, _ := r.object("agents", "get", receptionist.AgentID)["avatarIds"].([]any)
	for _, id := range ids {
		create = append(create, "-avatar", fmt.Sprint(id))
	}
	if len(ids) == 0 {
		t.Fatal("the receptionist has no avatar")
	}
	agent := fmt.Sprint(r.object(create...)["agentId"])
	widget := r.object("agents", "widget", agent)["widgetId"]
	if text := r.ok("agents", "widget", agent); widget == "" || text != fmt.Sprintln(widget) {
		t.Errorf("widget id %q, printed %q", widget, text)
	}
	if a := r.object("agents", "update", agent, "-name", "Rita II"); a["displayName"] != "Rita II" {
		t.Errorf("agent %v", a)
	}

	r.fails(statusFailed, "confirmation_required", "agents", "delete", agent)
	r.fails(statusFailed, "-allow-protected", "agents", "delete", agent, "-yes")
	r.ok("agents", "delete", agent, "-yes", "-allow-protected")
	r.fails(statusFailed, "not_found", "agents", "get", agent)
	r.ok("intellects", "delete", "-yes", intellect)
}

func TestKnowledge(t *testing.T) {
	r := newRig(t)
	manual := r.file("manual.md", "# Manual\n\n## Price\n\nThe zebra costs 42 crowns.\n")
	notes := r.file("notes.txt", "The giraffe is not for sale.")
	record := fmt.Sprint(r.object("knowledge", "create", "Zoo", manual)["id"])
	expect.Equal(t, r.ok("knowledge", "add", record, notes), "added notes.txt\n", "printed")
	expect.Equal(t, r.ok("knowledge", "add", record, notes), "notes.txt is there already\n", "printed")
	if text := r.ok("knowledge", "get", record); !strings.Contains(text, "manual.md") || !strings.Contains(text, "markdown") || !strings.Contains(text, "true") {
		t.Errorf("record\n%s", text)
	}
	if text := r.ok("knowledge", "search", "zebra", "price"); !strings.Contains(text, "42 crowns") {
		t.Errorf("found\n%s", text)
	}
	r.ok("knowledge", "remove", record, notes)
	receptionist, _ := r.info.Agent("receptionist")
	intellect := fmt.Sprint(receptionist.ConfigID)
	r.ok("intellects", "update", intellect, "-file", r.file("k.json", `{"knowledge_ids":[`+record+`]}`))
	r.fails(statusFailed, "here that is -force", "knowledge", "delete", record, "-yes")
	r.ok("knowledge", "delete", record, "-yes", "-force")
	r.fails(statusFailed, "not_found", "knowledge", "get", record)
	// The service has taken it out of the intellect.
	if text := r.ok("doctor"); strings.Contains(text, "knowledge_not_found") {
		t.Errorf("doctor\n%s", text)
	}
	r.fails(statusFailed, "there is no knowledge "+record, "intellects", "update", intellect, "-file", r.file("gone.json", `{"knowledge_ids":[`+record+`]}`))
	// A text may name a secret that does not exist, and doctor says so.
	r.ok("intellects", "update", intellect, "-file", r.file("secret.json", `{"base_directive":"The code is {{ secrets.CODE }}."}`))
	stdout, _, status := r.run("doctor")
	if status != statusFailed || !strings.Contains(stdout, "secret_ref_unresolved") {
		t.Errorf("doctor: status %d\n%s", status, stdout)
	}
	stdout, _, status = r.run("intellects", "audit", intellect)
	if status != statusFailed || !strings.Contains(stdout, "secret_ref_unresolved") {
		t.Errorf("audit: status %d\n%s", status, stdout)
	}
}

// The doctor reports nothing for a new account.
func TestDoctorOfANewAccount(t *testing.T) {
	r := newRig(t)
	if text := r.ok("doctor"); !strings.Contains(text, "0 errors, 0 warnings") || strings.Contains(text, "not checked") {
		t.Errorf("doctor\n%s", text)
	}
	d := r.object("doctor")
	if list, ok := d["findings"].([]any); !ok || len(list) != 0 {
		t.Errorf("doctor %v", d)
	}
	r.fails(statusFailed, "not_found", "doctor", "-agent", "00000000-0000-4000-8000-000000000000")
}

func TestThreads(t *testing.T) {
	r := newRig(t)
	receptionist, _ := r.info.Agent("receptionist")
	token := strings.TrimSpace(r.ok("tokens", "agent", "-agent", receptionist.AgentID, "-user", "ann"))
	thread := ask(t, r.info.GenieURL, token, "Hello \u001b[31mthere")
	if text := r.ok("threads", "list", "-agent", receptionist.AgentID, "-user", "ann", "-since", "1h"); !strings.Contains(text, thread) {
		t.Errorf("list\n%s", text)
	}
	if text := r.ok("threads", "list", "-user", ""); strings.Contains(text, thread) {
		t.Errorf("threads of anonymous visitors\n%s", text)
	}
	text := r.ok("threads", "transcript", thread)
	if !strings.Contains(text, "human: Hello") || strings.Contains(text, "\u001b") {
		t.Errorf("transcript %q", text)
	}
	r.ok("threads", "rename", thread, "Greetings")
	if o := r.object("threads", "get", thread); o["title"] != "Greetings" {
		t.Errorf("thread %v", o)
	}
	if o := r.object("threads", "push", thread, "Your order is ready."); o["delivered"] != false {
		t.Errorf("push %v", o)
	}
	if text := r.ok("threads", "messages", thread); !strings.Contains(text, "Your order is ready.") {
		t.Errorf("messages\n%s", text)
	}
	if text := r.ok("threads", "report"); !strings.Contains(text, "Message Id") {
		t.Errorf("report\n%s", text)
	}
	summary := r.object("threads", "report", "-summary")
	if totals, ok := summary["totals"].(map[string]any); !ok || totals["threads"] != 1.0 || summary["_meta"] == nil {
		t.Errorf("summary %v", summary)
	}
	r.fails(statusFailed, "validation_error", "threads", "list", "-agent", "a", "-agent", "b")
	r.fails(statusFailed, "here that is -yes", "threads", "delete", thread)
	const missing = "00000000-0000-4000-8000-000000000000"
	text, problem, status := r.run("threads", "delete", thread, missing, "-yes")
	if strings.TrimSpace(text) != "DELETED\n"+thread || status != statusFailed || !strings.Contains(problem, "not_found") || !strings.Contains(problem, missing) {
		t.Errorf("deleted\n%s%s", text, problem)
	}

	r.stdin = token
	r.ok("tokens", "end")
	if o := r.object("tokens", "conversation", "-config", fmt.Sprint(receptionist.ConfigID), "-ttl", "1m"); o["kind"] != "conversation" || o["ks"] == "" || o["expiresAt"] == nil {
		t.Errorf("token %v", o)
	}
	if o := r.object("tokens", "widget", receptionist.WidgetID); o["kind"] != "widget" || o["expiresAt"] != nil {
		t.Errorf("token %v", o)
	}
	if o := r.object("tokens", "admin", "-user", "boss"); o["kind"] != "admin" {
		t.Errorf("token %v", o)
	}
	r.fails(statusUsage, "user", "tokens", "admin") // of whom, is missing
}

func TestWhereTheSecretComesFrom(t *testing.T) {
	r := newRig(t)
	secret := r.info.AdminSecret
	r.env[envSecret] = ""
	r.fails(statusFailed, envSecretFile, "agents", "list")
	file := r.file("secret", secret+"\n")
	r.ok("agents", "list", "-secret-file", file)
	r.env[envSecretFile] = file
	r.ok("agents", "list")
	r.env[envSecretFile] = r.file("empty", "\n")
	r.fails(statusUsage, "is empty", "agents", "list")
	r.env[envSecretFile] = filepath.Join(t.TempDir(), "none")
	r.fails(statusFailed, "no such file", "agents", "list")
	r.env = map[string]string{}
	r.fails(statusUsage, envPartner, "agents", "list")

	// The output of the local service contains all settings.
	printed := must.Get(json.Marshal(r.info))(t)
	r.ok("agents", "list", "-service-file", r.file("service.json", string(printed)))
	r.env[envService] = r.file("service.json", string(printed))
	r.ok("avatars", "list")
	r.fails(statusFailed, "localservice -json", "agents", "list", "-service-file", r.file("other", "x"))

	// No flag takes the secret.
	everyCommand(t, func(c *cli.Command) {
		for _, f := range c.Flags {
			if name := f.Names()[0]; strings.Contains(name, "secret") && name != "secret-file" {
				t.Errorf("%s has -%s", c.Name, name)
			}
		}
	})
	r.fails(statusUsage, "-secret", "agents", "list", "-secret", secret)
}

func TestWrongCommandLines(t *testing.T) {
	r := &rig{t: t, env: map[string]string{envPartner: "1", envSecret: "x"}}
	for _, test := range []struct {
		text string
		args []string
	}{
		{"a command is missing", nil},
		{"there are provision, agents, avatars, intellects, tools", []string{"robots"}},
		{"agents needs one of list, get", []string{"agents"}},
		{"agents needs one of", []string{"agents", "fly"}},
		{"usage: agentctl agents get ID", []string{"agents", "get"}},
		{"usage: agentctl agents get ID", []string{"agents", "get", "a", "b"}},
		{"usage: agentctl threads delete ID...", []string{"threads", "delete"}},
		{"must be a number", []string{"intellects", "get", "robin"}},
		{"not defined: -fly", []string{"agents", "list", "-fly"}},
		{"not defined: -fly", []string{"-fly", "agents", "list"}},
		{`intellects update: required flag "file" not set`, []string{"intellects", "update", "7"}},
		{`talk: required flag "agent" not set`, []string{"talk"}},
		{"agents create: -intellect must be a number", []string{"agents", "create", "-intellect", "robin"}},
		{"for flag -speed: it must not be negative", []string{"replay", "x", "-speed", "-1"}},
		{"for flag -since: it must be positive", []string{"threads", "list", "-since", "-5h"}},
		{"needs an argument: -name", []string{"agents", "create", "-name"}},
	} {
		r.fails(statusUsage, test.text, test.args...)
	}
	r.fails(statusUsage, "unknown field", "intellects", "create", "-file", r.file("x.json", `{"opening":"x"}`))
	for _, test := range []struct{ group, name, file string }{
		{"tools", "wait_for_respond", `{"name":"t","config":{"type":"client","description":"d","wait_for_respond":false}}`},
		{"tools", "header", `{"name":"t","config":{"type":"api","description":"d","request":{"url":"https://x.example","header":{}},"response_template":"x"}}`},
		{"tools", "requird", `{"name":"t","config":{"type":"client","description":"d","args":{"n":{"prompt":"p","type":"str","requird":true}}}}`},
		{"intellects", "tools", `{"mcp_servers":{"docs":{"url":"https://x.example","tools":[]}}}`},
	} {
		r.fails(statusUsage, `unknown field "`+test.name+`"`, test.group, "create", "-file", r.file("x.json", test.file))
	}
	r.fails(statusUsage, "after top-level value", "intellects", "create", "-file", r.file("x.json", `{"name":"x"} {"nam":"y"}`))
	r.fails(statusFailed, "no such file", "knowledge", "create", "x", "none.md")
	r.fails(statusFailed, "no such file", "replay", "none")
	r.env[envPartner] = "many"
	r.fails(statusUsage, "must be a number", "agents", "list")
	r.env[envPartner], r.env[envRegion] = "1", "mars1"
	r.fails(statusFailed, "bad_request", "agents", "list")
}

// everyCommand calls do with every command, its groups and agentctl itself.
func everyCommand(t *testing.T, do func(*cli.Command)) {
	t.Helper()
	must.Do(t, newRoot().Walk(func(c *cli.Command) error { do(c); return nil }))
}

func TestHelp(t *testing.T) {
	r := &rig{t: t}
	text := r.ok("-h")
	for _, group := range newRoot().Commands {
		if !strings.Contains(text, "\n   "+group.Name+" ") {
			t.Errorf("the help does not have %s", group.Name)
		}
		help := r.ok(group.Name, "-h")
		for _, c := range group.Commands {
			if !strings.Contains(help, "\n   "+c.Name+" ") {
				t.Errorf("the help of %s does not have %s", group.Name, c.Name)
			}
		}
	}
	for _, name := range variables {
		if !strings.Contains(text, name) {
			t.Errorf("the help does not have %s", name)
		}
	}
	everyCommand(t, func(c *cli.Command) {
		if c.Usage == "" {
			t.Errorf("%s has no line of help", c.Name)
		}
	})
	if text := r.ok("agents", "delete", "-h"); !strings.Contains(text, "-allow-protected") || strings.Contains(text, "agents list") {
		t.Errorf("help of one command\n%s", text)
	}
	if text := r.ok("-version"); !strings.HasPrefix(text, "agentctl version ") {
		t.Errorf("version %q", text)
	}
}

// A shell asks agentctl for the words that can follow.
func TestCompletion(t *testing.T) {
	r := &rig{t: t}
	for _, shell := range []string{"bash", "zsh", "fish", "pwsh"} {
		if text := r.ok("completion", shell); !strings.Contains(text, "generate-shell-completion") {
			t.Errorf("%s: %s", shell, text)
		}
	}
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	os.Args = []string{"agentctl", "--generate-shell-completion"} // there the library looks for the first word
	if text := r.ok(os.Args[1:]...); !strings.Contains(text, "agents") {
		t.Errorf("commands\n%s", text)
	}
	if text := r.ok("threads", "--generate-shell-completion"); !strings.Contains(text, "transcript") {
		t.Errorf("commands of threads\n%s", text)
	}
	if text := r.ok("talk", "--ag", "--generate-shell-completion"); !strings.Contains(text, "--agent") {
		t.Errorf("flags of talk\n%s", text)
	}
}

func TestTerminalsAreNotChanged(t *testing.T) {
	for text, want := range map[string]string{
		"a\u001b[2Jb": "a [2Jb", "a\nb\tc": "a b c", "\u202eevil": " evil", "äöü €": "äöü €", strings.Repeat("x", 100): strings.Repeat("x", 59) + "…",
	} {
		expect.Equal(t, cell(text), strings.TrimSpace(want), "%q", text)
	}
	if got := printable("a\n\tb"); got != "a  b" { // in a table these begin lines and cells
		t.Errorf("%q", got)
	}
}

// TestInputThatWouldDoNothing: a value that is empty, such as an unset variable of a script, is not as if it was not given.
func TestInputThatWouldDoNothing(t *testing.T) {
	r := newRig(t)
	silent, _ := r.info.Agent("silent")
	intellect := fmt.Sprint(silent.ConfigID)
	const missing = "00000000-0000-4000-8000-0000000000ff"
	for _, args := range [][]string{
		{"talk", "-agent", silent.AgentID, "-text", ""},
		{"talk", "-agent", silent.AgentID, "-text", "hello", "-text", " "},
		{"talk", "-agent", silent.AgentID, "-mic", ""},
		{"talk", "-agent", silent.AgentID, "-text", "hello", "-record", ""},
		{"tokens", "conversation", "-config", intellect, "-user", ""},
		{"agents", "create", "-name", "A", "-intellect", intellect, "-file", ""},
		{"agents", "update", silent.AgentID, "-avatar", ""},
		{"agents", "list", "-search", ""},
		{"threads", "list", "-agent", ""},
		{"feedback", "list", "-thread", ""},
		{"doctor", "-agent", ""},
		{"provision", "-name", "A", "-directive", "Be kind.", "-key", ""},
	} {
		r.fails(statusUsage, "must not be empty", args...)
	}
	for _, args := range [][]string{
		{"tokens", "conversation", "-config", intellect, "-ttl", "0s"},
		{"tokens", "agent", "-agent", silent.AgentID, "-config", "0"},
		{"threads", "list", "-since", "0s"},
		{"knowledge", "search", "soup", "-top", "0"},
	} {
		r.fails(statusUsage, "must be positive", args...)
	}
	r.stdin = "\n \n"
	r.fails(statusUsage, "nothing to say", "talk", "-agent", silent.AgentID)
	r.fails(statusUsage, "must not be empty", "intellects", "opening", intellect, "")
	r.fails(statusFailed, missing, "threads", "delete", "-yes", missing)
	r.fails(statusUsage, "with -agent", "replay", t.TempDir(), "-user", "ann")
	r.fails(statusUsage, "-script", "replay", t.TempDir(), "-script", "-agent", silent.AgentID)

	// What can't be added is found before the record is made.
	r.fails(statusUsage, "must have a text", "knowledge", "create", "Empty", r.file("empty.txt", ""))
	if text := r.ok("knowledge", "list"); strings.Contains(text, "Empty") {
		t.Errorf("records\n%s", text)
	}
	r.ok("knowledge", "update", fmt.Sprint(r.object("knowledge", "create", "Zoo")["id"]), "-description", "") // clears it
}
