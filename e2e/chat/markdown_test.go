package chat

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// A text of the service never becomes anything but a text, wherever it is cut.
func TestTextStaysText(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open("/example/avatar/")
	var all []struct {
		HTML    string
		Strange []string // elements, attributes and addresses that must not come of a text
	}
	p.Call(&all, "/e2e/chat/testdata/markdown.js", "draw", []string{
		`<script>alert(1)</script><img src=x onerror=alert(1)><b onclick=alert(1)>b</b>`,
		"[a](javascript:alert(1)) [b](JAVA\tSCRIPT:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](&#106;avascript:alert(1)) <javascript:alert(1)>",
		"[f](https://a.example \"t\\\" onclick=alert(1)\") [g](/here) [h](//b.example/x) https://c.example/?a=1&b=\"2\" mailto:d@e.example",
		"![pixel](https://spy.example/p.gif) ![x](javascript:alert(1)) ![\"onerror=\"](https://a.example)",
		"```html\"onclick=alert(1)\n<script>alert(1)</script>\n```\n\n    <img onerror=alert(1)>",
		"| a <img> | b |\n|---|---|\n| [x](javascript:1) | `<i>` |",
		"[r]: javascript:alert(1)\n\n[r] and [r][r] &lt;script&gt; &#60;script&#62;",
		"<!-- <script> --> <![CDATA[<x>]]> <?php ?> <!DOCTYPE x>",
	}, 7)
	for i, d := range all {
		if len(d.Strange) > 0 {
			t.Errorf("text %d became %q in\n%s", i, d.Strange, d.HTML)
		}
	}
}
