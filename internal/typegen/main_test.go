package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

const root = "../.."

func TestFilesMatchTheDeclarations(t *testing.T) {
	files := must.Get(generate(root))(t)
	for name, want := range files {
		have := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		expect.Equal(t, string(have), want, "%s differs from the declarations; run go generate ./runtime/event", name)
	}
}

// TestCommentsSpeakOfWhatAPageHas checks that the generated comments, which are derived
// from Go comments, contain no terms of Go.
func TestCommentsSpeakOfWhatAPageHas(t *testing.T) {
	files := must.Get(generate(root))(t)
	of := regexp.MustCompile(`(?i)\b(nil|in go|struct|goroutine)\b`)
	for _, line := range strings.Split(files["js/src/generated/events.ts"]+files["js/src/generated/settings.ts"], "\n") {
		if word := of.FindString(line); word != "" {
			t.Errorf("%q says %q", strings.TrimSpace(line), word)
		}
	}
}

// The generated files refer to no document that users don't have; Go comments may.
func TestFilesNameNoSpecification(t *testing.T) {
	files := must.Get(generate(root))(t)
	of := regexp.MustCompile(`(protocol|session) (§|Appendix)|(^|[^-])service\.md|management-api`)
	for name, text := range files {
		for _, line := range strings.Split(text, "\n") {
			if of.MatchString(line) {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
}

// contract lists the events that pages know (session §A.1.5).
var contract = []string{
	"stateChange", "streamReady", "capacityChanged", "track", "videoMetadata", "mediaReady", "disclosure",
	"connectTimings", "connectivityChanged", "mediaRecovering", "mediaRecovered", "reconnecting", "reconnected",
	"connectionQuality", "micStarted", "hardwareMuteChanged", "localSpeakingChanged", "localMicLevel",
	"tapToTalkStarted", "tapToTalkEnded", "userStartedTalking", "smartTurnStatus", "responsePending",
	"responseSettled", "brainStalled", "brainSegment", "turnStart", "turnEnd", "transcript", "speechChunk",
	"avatarStartTalking", "avatarStopTalking", "interrupted", "toolCall", "toolCallResult", "toolCallInvalid",
	"toolSpiralDetected", "toolSpiralRecovering", "spiralRecovered", "oauthRequired", "oauthRequiredResult",
	"agentActionDenied", "idleWarning", "timeWarning", "timeExpired", "resumeReady", "resumed", "sessionCompleted",
	"warning", "error", "ended",
}

func TestEveryEventOfTheContractIsDeclared(t *testing.T) {
	if len(contract) != 51 {
		t.Fatalf("the contract has %d events", len(contract))
	}
	m := &module{root: root, packages: map[string]*pkg{}}
	events := must.Get(m.events(kinds[0]))(t)
	var names []string
	for _, e := range events {
		names = append(names, e.name)
		if e.decl.doc == "" {
			t.Errorf("event %s has no comment", e.name)
		}
	}
	for _, name := range contract {
		if !slices.Contains(names, name) {
			t.Errorf("no type has the name %s", name)
		}
	}
	slices.Sort(names)
	expect.Len(t, slices.Compact(slices.Clone(names)), len(names), "two types have one name: %v", names)
}

// TestEveryEventIsMade: an event that is declared, and so documented, but that no session makes never comes.
func TestEveryEventIsMade(t *testing.T) {
	m := &module{root: root, packages: map[string]*pkg{}}
	facade := string(must.Get(os.ReadFile(filepath.Join(root, "js/src/session/avatar.ts")))(t)) // emits what Go does not see
	for _, k := range kinds {
		if k.dir == "runtime/agent" {
			continue // the events of its transports
		}
		made := map[string]bool{} // by the name of the type
		for _, dir := range []string{k.dir, "runtime/session", "internal/page", "cmd/wasm"} {
			for _, name := range must.Get(filepath.Glob(filepath.Join(root, dir, "*.go")))(t) {
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				ast.Inspect(must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t), func(n ast.Node) bool {
					var typ ast.Expr
					switch n := n.(type) {
					case *ast.CompositeLit:
						typ = n.Type
					case *ast.CallExpr: // a conversion
						typ = n.Fun
					case *ast.Field:
						if n.Names == nil { // embedded in what fills its fields
							typ = n.Type
						}
					}
					switch typ := typ.(type) {
					case *ast.Ident:
						made[typ.Name] = true
					case *ast.SelectorExpr:
						made[typ.Sel.Name] = true
					}
					return true
				})
			}
		}
		for _, e := range must.Get(m.events(k))(t) {
			if !made[e.decl.name] && !strings.Contains(facade, fmt.Sprintf("emit(%q", e.name)) {
				t.Errorf("%s never makes the event %s (%s)", k.title, e.name, e.decl.name)
			}
		}
	}
}

// TestMethodsAreThoseOfThePrograms checks that each kind of object has the methods that its
// function declares, and that those which all kinds of session declare are named once.
func TestMethodsAreThoseOfThePrograms(t *testing.T) {
	files := must.Get(generate(root))(t)
	text := files["js/src/generated/methods.ts"]
	for name, want := range map[string]string{
		"SessionMethods": "setToken", "AvatarMethods": "startMic", "ChatMethods": "streamText", "AgentMethods": "switchMode", "ProgramMethods": "threadAll",
	} {
		_, rest, _ := strings.Cut(text, "interface "+name+" ")
		if body, _, _ := strings.Cut(rest, "\n}\n"); !strings.Contains(body, strconv.Quote(want)) {
			t.Errorf("%s has no %s: %s", name, want, body)
		}
	}
	for _, shared := range []string{"connect", "disconnect", "properties"} {
		expect.Equal(t, strings.Count(text, strconv.Quote(shared)), 1, "how often %s is named", shared)
	}
	if _, err := (&module{root: root, packages: map[string]*pkg{"internal/page": {}}}).methodsText(); err == nil {
		t.Error("no error for a package without methods")
	}
}
