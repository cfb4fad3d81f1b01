package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestSecurityNamesTests checks docs/security.md: every test and file that it names exists,
// and every promise has a test.
func TestSecurityNamesTests(t *testing.T) {
	checkItems(t, "docs/security.md", "Promises")
}

// TestDocsNameFiles checks that every file and folder of the repository that a document names
// exists, and so does every test of TypeScript. These are named in quotation marks behind
// their file; a name that ends with … is the beginning of one.
func TestDocsNameFiles(t *testing.T) {
	path := regexp.MustCompile("`((?:agenttest|bench|cmd|create|docs|e2e|example|internal|js|localservice|management|otel|pageserver|runtime|tools)/[\\w./-]+)`")
	script := regexp.MustCompile("`(?:js/test/)?(\\w+\\.test\\.ts)`:?((?:[ ,]*\"[^\"\\n]+\")*)")
	quoted := regexp.MustCompile(`"([^"]+)"`)
	for _, doc := range pages(t) {
		source := readFile(t, doc)
		for _, name := range path.FindAllStringSubmatch(source, -1) {
			if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(name[1], "/..."))); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
		for _, cited := range script.FindAllStringSubmatch(source, -1) {
			text := readFile(t, "js/test/"+cited[1])
			for _, name := range quoted.FindAllStringSubmatch(cited[2], -1) {
				begin, open := strings.CutSuffix(name[1], "…")
				if !open {
					begin += `"`
				}
				if !strings.Contains(text, `test("`+strings.TrimSuffix(begin, " ")) {
					t.Errorf("%s: js/test/%s has no test %q", doc, cited[1], name[1])
				}
			}
		}
	}
}

// TestManagementNamesTests checks docs/management.md: every test that it names exists, and
// every endpoint and rule of the service document, as listed in testdata/service.txt, has
// an item.
func TestManagementNamesTests(t *testing.T) {
	items := checkItems(t, "docs/management.md", "Endpoints and rules")
	for line := range strings.Lines(readFile(t, "internal/archtest/testdata/service.txt")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !named(items, strings.Split(line, "; ")) {
			t.Errorf("docs/management.md has no item with %s", line)
		}
	}
}

// TestManagementHasEveryEndpoint: each endpoint of the local service is named in an item of
// docs/management.md, as `kind/action`, or as `action` where the item begins with another of its kind.
func TestManagementHasEveryEndpoint(t *testing.T) {
	single := regexp.MustCompile(`(?:mux\.Handle(?:Func)?|s\.manage\w*)\((?:mux, )?"(?:[A-Z]+ )?/([^"]+)"`)
	collection := regexp.MustCompile(`collect\(s\.\w+, mux, "/([^"]+)", "(\w+)"`)
	var names []string
	for _, list := range []string{"Endpoints and rules", "Shapes"} {
		for _, item := range checkItems(t, "docs/management.md", list) {
			names = append(names, strings.ReplaceAll(item.text, "`", "/")) // a name may begin with a slash or not
		}
	}
	endpoints := 0
	want := func(endpoint string) {
		endpoints++
		at := strings.LastIndex(endpoint, "/")
		kind, action := "/"+endpoint[:at+1], endpoint[at+1:]
		kind = strings.TrimPrefix(kind, "/v1")
		for _, name := range names {
			if strings.Contains(name, kind) && (strings.Contains(name, "/"+action+"/") || strings.Contains(name, "/"+action+"?")) {
				return
			}
		}
		t.Errorf("docs/management.md has no item with the endpoint %s of internal/localservice/api", endpoint)
	}
	for _, f := range goFiles(t) {
		if f.dir != "internal/localservice/api" || strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		source := readFile(t, f.path)
		for _, match := range single.FindAllStringSubmatch(source, -1) {
			want(match[1])
		}
		for _, match := range collection.FindAllStringSubmatch(source, -1) {
			for _, action := range []string{match[2], "get", "list", "update", "delete"} {
				want(match[1] + "/" + action)
			}
		}
	}
	if endpoints < 80 {
		t.Errorf("found only %d endpoints", endpoints)
	}
}

// named reports whether the text of any of the items contains all the words.
func named(items []item, words []string) bool {
	return slices.ContainsFunc(items, func(i item) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(i.text, word) })
	})
}

// item is an entry of a list: its text, and what is indented below it, which names tests.
type item struct{ text, tests string }

// itemsUnder returns the items of the lists that a paragraph announces: what, each with its tests.
func itemsUnder(source, what string) (items []item) {
	within := false
	for line := range strings.Lines(source) {
		text := strings.TrimSpace(line)
		begins := strings.HasPrefix(text, "- ")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(line, what+", each with its tests"):
			within = true
		case !within || text == "":
		case indent == 0 && begins:
			items = append(items, item{text: text[2:]})
		case indent == 0:
			within = false
		case indent == 2 && !begins:
			items[len(items)-1].text += " " + text
		default:
			items[len(items)-1].tests += text + " "
		}
	}
	return items
}

// citedTest matches how documents name a test of Go.
var citedTest = regexp.MustCompile("`(?:\\w+\\.)?((?:Test|Example|Fuzz)\\w*)`")

// goTests returns the names of all tests, examples and fuzz targets of Go.
func goTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)
	for _, f := range goFiles(t) {
		for _, match := range declared.FindAllStringSubmatch(readFile(t, f.path), -1) {
			tests[match[1]] = true
		}
	}
	return tests
}

// checkItems returns the items of those lists of a document. It fails t if one names no test;
// TestTestsNamedByThePages checks that each exists.
func checkItems(t *testing.T, doc, what string) []item {
	t.Helper()
	items := itemsUnder(readFile(t, doc), what)
	if len(items) == 0 {
		t.Fatalf("%s has no %s", doc, what)
	}
	for _, item := range items {
		if !citedTest.MatchString(item.tests) {
			t.Errorf("%s has an item without a test: %s", doc, item.text)
		}
	}
	return items
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(root, path)))(t)
	return string(text)
}

// TestManagementIsTheSameInBothLanguages: js/src/management has each endpoint that the client in Go calls.
func TestManagementIsTheSameInBothLanguages(t *testing.T) {
	path := regexp.MustCompile(`"/(?:v1/)?([a-z][\w-]*(?:/\w+)+)["?]`)
	inTypeScript := regexp.MustCompile(`"(?:v1/)?([a-z][\w-]*(?:/\w+)+)["?]`)
	called := regexp.MustCompile(`path: "/(?:v1/)?([\w-]+)", create: "(\w+)"`) // a collection has five endpoints
	scripts := must.Get(filepath.Glob(filepath.Join(root, "js/src/management/*.ts")))(t)
	typescript := map[string]bool{}
	for _, name := range scripts {
		for _, match := range inTypeScript.FindAllStringSubmatch(readFile(t, "js/src/management/"+filepath.Base(name)), -1) {
			typescript[match[1]] = true
		}
	}
	endpoints := 0
	want := func(name string) {
		endpoints++
		if !typescript[name] {
			t.Errorf("js/src/management does not call %s", name)
		}
	}
	for _, f := range goFiles(t) {
		if f.dir != "management" && f.dir != "runtime/visitor" || strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		source := readFile(t, f.path)
		for _, match := range path.FindAllStringSubmatch(source, -1) {
			// A collection's own path is no endpoint, and TypeScript has service and action as two texts.
			if !strings.HasPrefix(match[1], "v1/") && !strings.HasPrefix(match[1], "service/") {
				want(match[1])
			}
		}
		for _, match := range called.FindAllStringSubmatch(source, -1) {
			for _, name := range []string{match[2], "get", "list", "update", "delete"} {
				want(match[1] + "/" + name)
			}
		}
	}
	if endpoints < 80 {
		t.Errorf("found only %d endpoints", endpoints)
	}
}

// TestFieldsOfManagementAreInBothLanguages: what the client in Go writes and filters by, the client in TypeScript has too: in the interface
// with the same name or, where there is none, somewhere in js/src/management.
func TestFieldsOfManagementAreInBothLanguages(t *testing.T) {
	var typescript strings.Builder
	for _, name := range must.Get(filepath.Glob(filepath.Join(root, "js/src/management/*.ts")))(t) {
		typescript.WriteString(readFile(t, "js/src/management/"+filepath.Base(name)))
	}
	interfaces := map[string]string{}
	for _, match := range regexp.MustCompile(`(?ms)^export interface (\w+)[^{]*\{\n(.*?)^\}`).FindAllStringSubmatch(typescript.String(), -1) {
		interfaces[match[1]] = match[2]
	}
	structs := regexp.MustCompile(`(?ms)^type ([A-Z]\w*(?:Input|Fields|Filter|Patch)) struct \{\n(.*?)^\}`)
	field := regexp.MustCompile(`json:"(\w+)`)
	fields := 0
	for _, f := range goFiles(t) {
		if f.dir != "management" || strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		for _, declared := range structs.FindAllStringSubmatch(readFile(t, f.path), -1) {
			in, where := interfaces[declared[1]], "the interface "+declared[1]+" of js/src/management"
			if in == "" {
				in, where = typescript.String(), "js/src/management"
			}
			for _, match := range field.FindAllStringSubmatch(declared[2], -1) {
				fields++
				refused := match[1] == "adminTags" && strings.HasPrefix(declared[1], "Avatar") // the field is there to be refused
				if !refused && !regexp.MustCompile(`\b`+match[1]+`\b`).MatchString(in) {
					t.Errorf("%s does not have the field %s of management.%s", where, match[1], declared[1])
				}
			}
		}
	}
	if fields < 100 {
		t.Errorf("found only %d fields", fields)
	}
}

// TestDocsNameEveryWidget: the lists of widgets have each one, chat.md by the property that has its content.
func TestDocsNameEveryWidget(t *testing.T) {
	names := regexp.MustCompile(`(?m)^\tRuntime\w+ += "([\w-]+)"`).FindAllStringSubmatch(readFile(t, "runtime/converse/widget.go"), -1)
	if len(names) < 11 {
		t.Fatalf("found only %d widgets", len(names))
	}
	camel := regexp.MustCompile(`-\w`)
	for _, match := range names {
		name := match[1]
		property := camel.ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
		for doc, text := range map[string]string{"ui.md": name, "protocol.md": name, "local-service.md": name, "chat.md": property} {
			if !regexp.MustCompile(`\b` + text + `\b`).MatchString(readFile(t, "docs/"+doc)) {
				t.Errorf("docs/%s does not name the widget %s", doc, text)
			}
		}
	}
}
